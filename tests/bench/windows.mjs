/*
 * windows.mjs - times the page's engine under node.  Prints JSON: seconds until it is ready, milliseconds of windows, MiB.
 *
 * usage: windows.mjs ENGINE FILE
 */
import { readFileSync } from "node:fs";
import { give, openEngine, takeBytes, unpackWhole } from "./engine.mjs";

const [, , path, file] = process.argv;
const WINDOWS = 80;

const cpu = () => process.cpuUsage().user / 1e3; // milliseconds
const engine = openEngine(path);

function ask(request) {
	const text = Buffer.from(JSON.stringify({ v: 1, ...request }));
	return takeBytes(engine, engine.exports.allo_engine_ask(give(engine, text), text.length));
}

const begin = cpu();
const bytes = unpackWhole(readFileSync(file));
const failure = takeBytes(
	engine,
	engine.exports.allo_engine_open(give(engine, Buffer.from("file\0")), give(engine, bytes), bytes.length),
);
if (failure.length > 0) throw new Error("the engine cannot read the file");
const open = Buffer.from(ask({ ask: "open" }));
const length = JSON.parse(open.toString("utf8", 16, 16 + open.readUInt32LE(8))).duration_ns;
ask({ ask: "tree", metric: "peak_bytes" });
const ready = cpu() - begin;

/* Windows of 0.1 to 30 % of the run, spread over it. */
const times = Array.from({ length: WINDOWS }, (_, i) => {
	const part = Math.round(length * 0.001 * 300 ** (((i * 37) % WINDOWS) / WINDOWS));
	const from = Math.round(((length - part) * i) / WINDOWS);
	const start = cpu();
	ask({ ask: "tree", metric: "peak_bytes", from, to: from + part, least: 0.0003 });
	return cpu() - start;
}).sort((a, b) => a - b);

console.log(
	JSON.stringify({
		ready_s: ready / 1e3,
		median_ms: times[WINDOWS / 2],
		p95_ms: times[Math.floor(WINDOWS * 0.95)],
		memory_mib: engine.exports.memory.buffer.byteLength / 2 ** 20,
	}),
);
