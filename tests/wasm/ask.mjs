// Asks the engine about a file: ask.mjs ENGINE NAME FILE REQUEST...      Prints the replies one after the other, or the
// reply of a file that cannot be opened.
import { readFileSync } from "node:fs";
import { give, openEngine, takeBytes, unpackWhole } from "./engine.mjs";

const [path, name, file, ...requests] = process.argv.slice(2);
const engine = openEngine(path);
const { allo_engine_open: open, allo_engine_ask: ask } = engine.exports;
const bytes = unpackWhole(readFileSync(file));
const failure = takeBytes(engine, open(give(engine, Buffer.from(`${name}\0`)), give(engine, bytes), bytes.length));

process.stdout.write(failure);
for (const request of failure.length ? [] : requests) {
  const text = Buffer.from(request);
  process.stdout.write(takeBytes(engine, ask(give(engine, text), text.length)));
}
