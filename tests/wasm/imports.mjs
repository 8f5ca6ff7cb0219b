// Prints the imports of each module, packed or not: imports.mjs FILE...
import { readFileSync } from "node:fs";
import { unpackWhole } from "./engine.mjs";

for (const file of process.argv.slice(2)) {
  const module = new WebAssembly.Module(unpackWhole(readFileSync(file)));
  console.log(WebAssembly.Module.imports(module).map((used) => `${used.module}.${used.name}`).sort().join(" "));
}
