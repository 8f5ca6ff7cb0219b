/* test_url.ts - the state in the URL. */
import assert from "node:assert/strict";
import test from "node:test";
import { DEFAULTS, readState, readToken, type State, writeState } from "../src/url.ts";

const FULL: State = {
	view: "flame",
	file: 2,
	time: { from: 2_100_000_000, to: 7_900_000_001 },
	window: { from: 0, to: 9_007_199_254_740_000 },
	metric: "alloc_bytes",
	filters: ["focus:fn:=std::vector<int>::push_back", "hide:mod:libc", "ignore:/a&b=c%#+ d/"],
	base: { file: 1, from: 0, to: 1 },
	search: "\u202e a&b=c </script>",
	zoom: [1, 17, 4294967295],
	call: 12,
	invert: true,
	upward: true,
	colour: "kind",
	by: "module",
	sort: "total",
	ascending: true,
	preset: "Total (bytes), tiny",
	threshold: "0.5",
	opened: [17, 2, 0, 0],
	suppressed: ["^init_cache$", "libfoo.so&x=1"],
	path: "/home/user/a b.c",
	line: 23,
	query: "SELECT * FROM sites WHERE bytes > 10 -- 100%",
	chart: "line",
	axes: [0, 2],
	sizes: { from: 16, to: 32 },
	chain: 12,
	kind: "growing",
	repeats: true,
	bytes: true,
	row: 41,
	marks: [0, 5],
};

test("every field survives the URL", () => {
	assert.deepEqual(readState(writeState(FULL)), FULL);
	for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
		assert.notDeepEqual(FULL[key], DEFAULTS[key], `${key} is not tested`);
		const one = { ...DEFAULTS, [key]: FULL[key] };
		assert.deepEqual(readState(writeState(one)), one);
	}
});

test("the default state is only its version", () => {
	assert.equal(writeState(DEFAULTS), "#v=1");
	assert.deepEqual(readState(""), DEFAULTS);
});

test("links are readable", () => {
	const state = {
		...DEFAULTS,
		view: "flame",
		time: { from: 2_100_000_000, to: 7e9 },
		filters: ["hide:mod:libc"],
	};

	assert.equal(writeState(state), "#v=1&view=flame&t=2.1s..7s&f=hide:mod:libc");
});

test("a base may be a whole file", () => {
	assert.deepEqual(readState("#b=1").base, { file: 1 });
	assert.deepEqual(readState("#b=0:1s..2s").base, { file: 0, from: 1e9, to: 2e9 });
});

test("damaged and unknown fields keep their defaults", () => {
	for (const fragment of [
		"#t=x",
		"#t=5s..2s",
		"#t=5s..5s",
		"#file=-1",
		"#z=1.x",
		"#f=%E0%A4%A",
		"#nothing=1",
		"#&&=",
		"#t",
	])
		assert.deepEqual(readState(fragment), DEFAULTS, fragment);
});

test("the token is found, and never written", () => {
	assert.equal(readToken("#k=abc&view=flame"), "abc");
	assert.equal(readToken("#view=flame"), undefined);
	assert.equal(writeState(readState("#k=abc&view=flame")), "#v=1&view=flame");
});
