/* test_speedscope.mjs - our files as speedscope itself reads them: its own web page, with its importer. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import test, { after } from "node:test";
import { allo, alloJson, closeBrowser, file, folder, golden, open } from "./browser.mjs";

after(closeBrowser);

const APP = join(dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release/index.html");

/* The page with a profile loaded, in the way in which speedscope's command line does it. */
async function load(t, path) {
	const script = file(t, "load.js", `speedscope.loadFileFromBase64(${JSON.stringify(basename(path))}, ` +
		`${JSON.stringify(readFileSync(path).toString("base64"))})`);
	const page = await open(t, `${APP}#localProfilePath=${script}`);

	await page.getByText("Left Heavy").waitFor();
	return page;
}

/* Waits for a text: speedscope draws in a later frame. */
const shows = (page, text) =>
	page.waitForFunction((source) => new RegExp(source).test(document.body.innerText), text.source);

/* All that speedscope has read, as it would save it. */
async function exported(t, page) {
	const saved = join(folder(t), "saved.json");

	page.getByText("Export").click();
	await (await page.waitForEvent("download")).saveAs(saved);
	return JSON.parse(readFileSync(saved, "utf8"));
}

function convert(t, input, name = "test.speedscope.json", ...words) {
	const path = join(folder(t), name);

	allo("convert", input, "-o", path, ...words);
	return path;
}

/* The own value of each stack, by the names of its functions; speedscope stores openings and closings. */
function ownValues(frames, events) {
	const values = new Map(), stack = [];
	let at = 0;

	for (const event of events) {
		const path = stack.join(";");

		values.set(path, (values.get(path) || 0) + event.at - at);
		at = event.at;
		if (event.type === "O")
			stack.push(frames[event.frame].name);
		else
			stack.pop();
	}
	return Object.fromEntries([...values].filter(([, value]) => value > 0).sort());
}

function ownValuesOfTree(input, metric) {
	const { nodes } = alloJson("tree", "--min", "0", "--keep-allocator", "-M", metric, input);
	const paths = new Map([[0, ""]]), values = new Map();

	for (const node of nodes.slice(1)) {
		const path = [paths.get(node.parent), node.name].filter((part) => part !== "").join(";");

		paths.set(node.id, path);
		values.set(path, (values.get(path) || 0) + node.self);
	}
	return Object.fromEntries([...values].filter(([, value]) => value > 0).sort());
}

for (const name of ["dhat/valgrind-heap.json", "dhat/dhat-rs-heap.json", "pprof/go-heap.pb.gz",
	"pprof/inline-dropframes.pb.gz", "folded/heaptrack-allocations.folded"]) {
	test(`${name}: speedscope reads all metrics and stacks`, async (t) => {
		const { metrics } = alloJson("info", golden(name));
		const page = await load(t, convert(t, golden(name)));
		const read = await exported(t, page);

		assert.deepEqual(read.profiles.map((profile) => [profile.name.split(":")[0], profile.endValue]),
			metrics.map(({ metric, sum }) => [metric.name, sum]));
		for (const { metric } of metrics) {
			const profile = read.profiles.find((each) => each.name.split(":")[0] === metric.name);

			assert.equal(profile.unit, ["bytes", "nanoseconds"].includes(metric.unit) ? metric.unit : "none");
			assert.deepEqual(ownValues(read.shared.frames, profile.events), ownValuesOfTree(golden(name), metric.name));
		}
	});
}

test("speedscope shows the program, and the metric that allo would show", async (t) => {
	const page = await load(t, convert(t, golden("dhat/valgrind-heap.json")));

	assert.equal(await page.title(), "./demo - speedscope");
	await shows(page, /peak_bytes: live at the program's peak\s*\(6\/11\)/);
	await page.getByText("Sandwich").click();
	await shows(page, /1\.12 MB \(100%\)\s+1\.12 MB \(100%\)\s+malloc/);
});

test("files and lines arrive, inlined calls as well", async (t) => {
	const read = await exported(t, await load(t, convert(t, golden("pprof/inline-dropframes.pb.gz"))));

	assert.deepEqual(read.shared.frames, [
		{ name: "main", file: "a.cc", line: 9 }, { name: "ns::Cache<int>::put(int)", file: "a.cc", line: 6 },
		{ name: "std::vector<int, std::allocator<int> >::push_back(int&&)", file: "a.cc", line: 5 },
		{ name: "operator new", file: "a.cc", line: 4 },
	]);
});

test("a comparison is two profiles", async (t) => {
	const read = await exported(t, await load(t, convert(t, golden("folded/diff.folded"))));

	assert.deepEqual(read.profiles.map(({ name, endValue }) => [name, endValue]),
		[["samples before", 1017], ["samples after", 1612]]);
});

/* The own time of all threads together, in nanoseconds; speedscope counts microseconds. */
function ownTimes(read) {
	const times = {};

	for (const profile of read.profiles) {
		assert.equal(profile.unit, "microseconds");
		for (const [stack, time] of Object.entries(ownValues(read.shared.frames, profile.events)))
			times[stack] = Math.round((times[stack] || 0) + time * 1000);
	}
	return Object.fromEntries(Object.entries(times).filter(([stack]) => stack).sort());
}

for (const [name, metric, ...threads] of [
	["chrome-trace/demo.trace.json", "wall", "demo (pid 42), main thread (tid 7)", "demo (pid 42), worker (tid 8)"],
	["perf/pid-tid.txt", "cpu", "busy (pid 15094), busy (tid 15094)", "busy (pid 15094), busy (tid 15097)"],
	["dhat/valgrind-heap.json", "peak_bytes", "peak_bytes, each a nanosecond wide (pid 0, tid 0)"]]) {
	test(`${name}: speedscope reads the trace that is made of it`, async (t) => {
		const read = await exported(t, await load(t, convert(t, golden(name), "test.trace.json")));

		assert.deepEqual(read.profiles.map((profile) => profile.name).sort(), threads);

		const found = ownTimes(read), expected = ownValuesOfTree(golden(name), metric);

		assert.deepEqual(Object.keys(found), Object.keys(expected));
		for (const stack of Object.keys(found)) /* perf's samples may be a little closer than their period */
			assert.ok(Math.abs(found[stack] - expected[stack]) <= expected[stack] * (metric === "cpu" ? 0.001 : 0), stack);
	});
}

test("packed files are read, too", async (t) => {
	const page = await load(t, convert(t, golden("dhat/valgrind-heap.json"), "heap.speedscope.json.gz"));

	assert.equal(await page.title(), "./demo - speedscope");
});

test("names of any kind arrive", async (t) => {
	const names = ["<script>alert(1)</script>", "\"quotes\" \\ 'more'", "bell\x07", "\u540d\u524d", "__proto__"];
	const input = file(t, "odd.folded", names.map((name) => `main;${name} 10\n`).join(""));
	const read = await exported(t, await load(t, convert(t, input)));

	assert.deepEqual(read.shared.frames.map(({ name }) => name).sort(), ["main", ...names].sort());
});

test("a thread's time is as it was, with its gaps", async (t) => {
	const indent = " ".repeat(14);
	const sample = (time, name) => ` ${10 ** 12 + time} 7 70\n${indent}a\`${name}\n${indent}a\`main\n${indent}  1\n`;
	const input = file(t, "in.dtrace", `\n${sample(0, "f")}${sample(1e6, "g")}${sample(5e6, "g")}`);
	const read = await exported(t, await load(t, convert(t, input)));
	const thread = read.profiles.find(({ name }) => name === "thread 70 of process 7");

	assert.deepEqual([thread.unit, thread.events.map(({ type, frame, at }) => [type, read.shared.frames[frame].name, at])],
		["nanoseconds", [["O", "a`main", 0], ["O", "a`f", 0], ["C", "a`f", 1e6], ["O", "a`g", 1e6], ["C", "a`g", 2e6],
			["C", "a`main", 2e6], ["O", "a`main", 5e6], ["O", "a`g", 5e6], ["C", "a`g", 6e6], ["C", "a`main", 6e6]]]);
});
