// Describes files with the engine: describe.mjs ENGINE FILE...      as describe_native.c does, for compressed files as
// well.  A damaged one is "not unpacked".
import { readFileSync } from "node:fs";
import { give, openEngine, takeBytes, unpackWhole } from "./engine.mjs";

const [path, ...files] = process.argv.slice(2);
const engine = openEngine(path);

function describe(name, bytes) {
  const [text, data] = [give(engine, Buffer.from(`${name}\0`)), give(engine, bytes)];
  const said = takeBytes(engine, engine.exports.allo_test_describe(text, data, bytes.length));
  engine.exports.allo_engine_free(text);
  engine.exports.allo_engine_free(data);
  return new TextDecoder().decode(said);
}

for (const file of files) {
  let bytes = null;
  try {
    bytes = unpackWhole(readFileSync(file));
  } catch {
    // The decompressors' own messages do not matter.
  }
  process.stdout.write(`== ${file}\n${bytes ? describe(file, bytes) : "not unpacked\n"}`);
}
