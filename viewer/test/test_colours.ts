/* test_colours.ts - colours of boxes: modules keep theirs, and ages have steps of ten. */
import assert from "node:assert/strict";
import test from "node:test";
import { colourTree } from "../src/flame/colours.ts";
import type { Tree } from "../src/flame/layout.ts";
import type { Names } from "../src/names.ts";
import { PALETTES } from "../src/palette.ts";

/* The call 10 * m + n belongs to the module m. */
const namesOf = () =>
	({ of: (call: number) => ({ module: Math.floor(call / 10), kind: 0 }) }) as unknown as Names;

/* A root, and children with these calls and values. */
function treeOf(children: [call: number, value: number][], age?: number[]): Tree {
	const column = (values: number[]) => Float64Array.from([0, ...values]);

	return {
		count: children.length + 1,
		call: Uint32Array.from([0, ...children.map(([call]) => call)]),
		self: column(children.map(([, value]) => value)),
		leftOutValue: column(children.map(() => 0)),
		age: age && Float64Array.from(age),
		before: undefined,
	} as unknown as Tree;
}

const colours = (tree: Tree, names: Names, mode = "module") =>
	colourTree(tree, mode, names, PALETTES.light, (module) => `m${module}`, "ns");

test("a module keeps its colour in another tree, whatever it costs there", () => {
	const names = namesOf();
	const first = colours(
		treeOf([
			[10, 5],
			[20, 9],
		]),
		names,
	);
	const second = colours(
		treeOf([
			[10, 7],
			[30, 8],
		]),
		names,
	);
	const colour = (found: typeof first, node: number) => found.colours[found.index[node]!];

	assert.equal(colour(first, 1), colour(second, 1));
	assert.notEqual(colour(first, 2), colour(second, 2));
	assert.deepEqual(
		second.legend.map(({ label }) => label),
		["m3", "m1"],
	);
	assert.equal(second.colours[second.legend[1]!.colour], first.colours[first.legend[1]!.colour]);
});

test("of many modules, those after the ninth share a colour", () => {
	const all = Array.from({ length: 12 }, (_, i): [number, number] => [10 * (i + 1), 100 - i]);
	const found = colours(treeOf(all), namesOf());

	assert.equal(new Set([...found.index].slice(1, 10)).size, 9);
	assert.equal(found.legend.at(-1)?.label, "other modules");
	assert.equal(found.legend.length, 10);
});

test("ages have a colour for each power of ten; boxes without blocks have the first", () => {
	const found = colours(
		treeOf(
			[
				[10, 1],
				[11, 1],
				[12, 1],
			],
			[2e9, 5e8, -1, 9e9],
		),
		namesOf(),
		"age",
	);

	assert.deepEqual([...found.index], [6, 5, 0, 6]);
	assert.equal(found.legend.at(-1)?.label, "1 s and older");
	assert.equal(found.legend[0]?.label, "10 us");
});
