/* test_layout.ts - positions of flame graph boxes. */
import assert from "node:assert/strict";
import test from "node:test";
import { changeStep } from "../src/flame/colours.ts";
import {
	Culler,
	childrenOf,
	findPath,
	hit,
	layoutTree,
	levelsOf,
	pathTo,
	type Tree,
} from "../src/flame/layout.ts";
import { Reply } from "../src/reply.ts";
import { defaultExpansion, visibleRows } from "../src/table/tree_rows.ts";
import { encodeReply } from "./encode.ts";

interface Node {
	call: number;
	depth: number;
	self?: number;
	total: number;
	before?: number;
	beforeSelf?: number;
	leftOut?: number;
	leftOutValue?: number;
}

function treeOf(nodes: Node[], hasBase = false): Tree {
	const f64 = (pick: (node: Node) => number | undefined) =>
		Float64Array.from(nodes, (node) => pick(node) ?? 0);
	const u32 = (pick: (node: Node) => number | undefined) =>
		Uint32Array.from(nodes, (node) => pick(node) ?? 0);
	const bytes = encodeReply(
		"tree",
		{},
		{
			call: u32(({ call }) => call),
			line: u32(() => 0),
			depth: u32(({ depth }) => depth),
			self: f64(({ self }) => self),
			total: f64(({ total }) => total),
			...(hasBase
				? { before_self: f64(({ beforeSelf }) => beforeSelf), before_total: f64(({ before }) => before) }
				: {}),
			left_out: u32(({ leftOut }) => leftOut),
			left_out_value: f64(({ leftOutValue }) => leftOutValue),
		},
	);
	return layoutTree(Reply.decode(bytes.buffer));
}

/* all 100: a 60 (b 40, 2 more 5), c 30. */
const TREE = treeOf([
	{ call: 0, depth: 0, self: 10, total: 100 },
	{ call: 1, depth: 1, self: 15, total: 60, leftOut: 2, leftOutValue: 5 },
	{ call: 2, depth: 2, self: 40, total: 40 },
	{ call: 3, depth: 1, self: 30, total: 30 },
]);

test("children follow each other from the left, then the remainder", () => {
	assert.deepEqual([...TREE.x], [0, 0, 0, 60]);
	assert.deepEqual([...TREE.parent], [0, 0, 1, 0]);
	assert.deepEqual([...TREE.end], [4, 3, 3, 4]);
	assert.equal(TREE.restX[1], 40);
	assert.deepEqual(childrenOf(TREE, 0), [1, 3]);
	assert.equal(levelsOf(TREE, 0), 3);
	assert.equal(levelsOf(TREE, 3), 1);
});

test("paths lead to nodes and back", () => {
	assert.equal(findPath(TREE, 0, [1, 2]), 2);
	assert.equal(findPath(TREE, 0, []), 0);
	assert.equal(findPath(TREE, 0, [2]), undefined);
	assert.deepEqual(pathTo(TREE, 2), [1, 2]);
});

test("a point finds the box, the remainder or nothing", () => {
	assert.equal(hit(TREE, 0, 0, 0.99), 0);
	assert.equal(hit(TREE, 0, 1, 0.599), 1);
	assert.equal(hit(TREE, 0, 1, 0.6), 3);
	assert.equal(hit(TREE, 0, 1, 0.95), undefined);
	assert.equal(hit(TREE, 0, 2, 0.39), 2);
	assert.equal(hit(TREE, 0, 2, 0.42), ~1);
	assert.equal(hit(TREE, 0, 2, 0.46), undefined);
	assert.equal(hit(TREE, 1, 1, 0.5), 2, "zoomed: the branch fills the width");
});

test("boxes cover their shares; narrow ones and rows outside are skipped", () => {
	const culler = new Culler();
	const boxes = culler.cull(TREE, { root: 0, pixels: 1000, firstRow: 0, lastRow: 9 });
	const list = Array.from({ length: boxes.count }, (_, i) => [
		boxes.node[i],
		boxes.x[i],
		boxes.width[i],
		boxes.row[i],
	]);

	assert.deepEqual(list, [
		[0, 0, 1000, 0],
		[1, 0, 600, 1],
		[~1, 400, 50, 2],
		[2, 0, 400, 2],
		[3, 600, 300, 1],
	]);
	assert.equal(culler.cull(TREE, { root: 0, pixels: 1000, firstRow: 1, lastRow: 1 }).count, 2);
	assert.equal(culler.cull(TREE, { root: 0, pixels: 1, firstRow: 0, lastRow: 9 }).count, 2);
});

/* a grew from 20 to 60, c shrank from 70 to 30: children would not fit into max(100, 100). */
test("compared boxes are as wide as the larger value, and contain their children", () => {
	const tree = treeOf(
		[
			{ call: 0, depth: 0, self: 10, total: 100, before: 100, beforeSelf: 10 },
			{ call: 1, depth: 1, self: 60, total: 60, before: 20, beforeSelf: 20 },
			{ call: 3, depth: 1, self: 30, total: 30, before: 70, beforeSelf: 70 },
		],
		true,
	);

	assert.deepEqual([...tree.width], [140, 60, 70]);
	assert.deepEqual([...tree.x], [0, 0, 60]);
	assert.ok(changeStep(60, 20) > 3);
	assert.ok(changeStep(30, 70) < 3);
	assert.equal(changeStep(5, 5), 3);
	assert.equal(changeStep(0, 0), 3);
});

test("a stack of 100,000 calls is laid out without recursion", () => {
	const tree = treeOf(Array.from({ length: 100_001 }, (_, depth) => ({ call: depth, depth, total: 1 })));

	assert.equal(levelsOf(tree, 0), 100_001);
	assert.equal(tree.end[0], 100_001);
	assert.equal(hit(tree, 0, 100_000, 0.5), 100_000);
	assert.equal(pathTo(tree, 100_000).length, 100_000);
	assert.equal(visibleRows(tree, defaultExpansion(tree)).length, 100_001);
});

test("a million nodes are laid out, and only wide ones are drawn", () => {
	const nodes: Node[] = [{ call: 0, depth: 0, total: 1_000_000 }];
	for (let i = 0; i < 1000; i++) {
		nodes.push({ call: i + 1, depth: 1, total: 1000 });
		for (let k = 0; k < 1000; k++) nodes.push({ call: k, depth: 2, self: 1, total: 1 });
	}
	const tree = treeOf(nodes);
	const { count } = new Culler().cull(tree, { root: 0, pixels: 1600, firstRow: 0, lastRow: 50 });

	assert.equal(tree.x[tree.count - 1], 999_999);
	assert.equal(count, 1001);
});

test("open rows show their children and the remainder", () => {
	assert.deepEqual([...visibleRows(TREE, new Set())], [0]);
	assert.deepEqual([...visibleRows(TREE, new Set([0]))], [0, 1, 3]);
	assert.deepEqual([...visibleRows(TREE, new Set([0, 1]))], [0, 1, 2, ~1, 3]);
	assert.deepEqual([...defaultExpansion(TREE)], [0, 1]);
});
