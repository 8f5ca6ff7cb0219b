// Asks the engine about a file, or two: ask.mjs ENGINE NAME FILE [--base NAME FILE] REQUEST...      Prints the replies one
// after the other, or the reply of a file that cannot be opened.
import { readFileSync } from "node:fs";
import { give, openEngine, takeBytes, unpackWhole } from "./engine.mjs";

const [path, name, file, ...words] = process.argv.slice(2);
const engine = openEngine(path);
const { allo_engine_open: open, allo_engine_ask: ask } = engine.exports;
const openFile = (name, file) => {
  const bytes = unpackWhole(readFileSync(file));
  return takeBytes(engine, open(give(engine, Buffer.from(`${name}\0`)), give(engine, bytes), bytes.length));
};
const hasBase = words[0] === "--base";
let failure = openFile(name, file);
if (hasBase && failure.length === 0) failure = openFile(words[1], words[2]);
const requests = hasBase ? words.slice(3) : words;

process.stdout.write(failure);
for (const request of failure.length ? [] : requests) {
  const text = Buffer.from(request);
  process.stdout.write(takeBytes(engine, ask(give(engine, text), text.length)));
}
