/*
 * layout.ts - where the boxes of a flame graph are: typed arrays in preorder, no objects.
 *
 * Positions and widths are in units of the metric.  A node's children come first, largest first, then the remainder of
 * those that the engine left out, then the node's own value as a gap.
 */
import type { Reply } from "../reply.ts";

export interface Tree {
	count: number;
	call: Uint32Array;
	line: Uint32Array;
	depth: Uint32Array;
	self: Float64Array;
	total: Float64Array;
	before: Float64Array | undefined; // totals of the base
	age: Float64Array | undefined; // average age of the blocks; -1: there are none
	leftOut: Uint32Array;
	leftOutValue: Float64Array;
	parent: Uint32Array;
	end: Uint32Array; // index after the node's last descendant
	x: Float64Array;
	width: Float64Array;
	restX: Float64Array; // where the remainder begins
}

/* Sets parent and end of each node; returns the number of levels. */
function link(depth: Uint32Array, parent: Uint32Array, end: Uint32Array): void {
	const path: number[] = [];

	for (let i = 0; i < depth.length; i++) {
		while (path.length > depth[i]!) end[path.pop()!] = i;
		parent[i] = path.length > 0 ? path[path.length - 1]! : 0;
		path.push(i);
	}
	for (const open of path) end[open] = depth.length;
}

/* With a base, a box is as wide as the larger value, and at least as wide as its children. */
function compareWidths(tree: Tree, beforeSelf: Float64Array): void {
	for (let i = tree.count - 1; i >= 0; i--) {
		const own = Math.max(tree.self[i]!, beforeSelf[i] ?? 0);
		tree.width[i]! += own + tree.leftOutValue[i]!;
		if (i > 0) tree.width[tree.parent[i]!]! += tree.width[i]!;
	}
}

function place(tree: Tree): void {
	const { x, width, parent, restX } = tree;

	/* restX serves as the cursor: after all children are placed, it is the remainder's place. */
	for (let i = 0; i < tree.count; i++) {
		if (i > 0) {
			const above = parent[i]!;
			x[i] = restX[above]!;
			restX[above]! += width[i]!;
		}
		restX[i] = x[i]!;
	}
}

export function layoutTree(reply: Reply<unknown>): Tree {
	const depth = reply.u32("depth");
	const count = depth.length;
	const total = reply.f64("total");
	const before = reply.has("before_total") ? reply.f64("before_total") : undefined;
	const tree: Tree = {
		count,
		call: reply.u32("call"),
		line: reply.u32("line"),
		depth,
		self: reply.f64("self"),
		total,
		before,
		age: reply.has("age") ? reply.f64("age") : undefined,
		leftOut: reply.u32("left_out"),
		leftOutValue: reply.f64("left_out_value"),
		parent: new Uint32Array(count),
		end: new Uint32Array(count),
		x: new Float64Array(count),
		width: before ? new Float64Array(count) : total,
		restX: new Float64Array(count),
	};

	link(depth, tree.parent, tree.end);
	if (before) compareWidths(tree, reply.f64("before_self"));
	place(tree);
	return tree;
}

/* The node below `root` that a path of calls leads to; undefined if it was left out. */
export function findPath(tree: Tree, root: number, path: readonly number[]): number | undefined {
	let node = root;

	for (const call of path) {
		let child = node + 1;
		while (child < tree.end[node]! && tree.call[child] !== call) child = tree.end[child]!;
		if (child >= tree.end[node]!) return undefined;
		node = child;
	}
	return node;
}

/* Calls from the root (exclusive) down to the node. */
export function pathTo(tree: Tree, node: number): number[] {
	const path: number[] = [];

	for (let i = node; i > 0; i = tree.parent[i]!) path.push(tree.call[i]!);
	return path.reverse();
}

export function childrenOf(tree: Tree, node: number): number[] {
	const children: number[] = [];

	for (let i = node + 1; i < tree.end[node]!; i = tree.end[i]!) children.push(i);
	return children;
}

export interface Boxes {
	count: number;
	node: Int32Array; // ~node: the remainder below the node
	x: Float32Array; // pixels
	width: Float32Array;
	row: Uint32Array; // levels below the root of the view
}

function makeBoxes(capacity: number): Boxes {
	return {
		count: 0,
		node: new Int32Array(capacity),
		x: new Float32Array(capacity),
		width: new Float32Array(capacity),
		row: new Uint32Array(capacity),
	};
}

export interface Extent {
	root: number; // node that fills the width
	pixels: number;
	firstRow: number;
	lastRow: number;
}

/* Boxes under half a pixel are not drawn: the engine leaves them out as well. */
const LEAST_PIXELS = 0.5;

/* The boxes of a view.  Narrow branches and rows outside are skipped as a whole. */
export class Culler {
	private boxes = makeBoxes(4096);

	cull(tree: Tree, { root, pixels, firstRow, lastRow }: Extent): Boxes {
		const scale = tree.width[root]! > 0 ? pixels / tree.width[root]! : 0;
		const least = scale > 0 ? LEAST_PIXELS / scale : Number.POSITIVE_INFINITY;
		const [left, top, end] = [tree.x[root] ?? 0, tree.depth[root] ?? 0, tree.end[root] ?? 0];

		this.boxes.count = 0;
		for (let i = root; i < end; ) {
			const row = tree.depth[i]! - top;
			if (tree.width[i]! < least || row > lastRow) {
				i = tree.end[i]!;
				continue;
			}
			if (row >= firstRow) this.add(i, (tree.x[i]! - left) * scale, tree.width[i]! * scale, row);
			const rest = tree.leftOutValue[i]! * scale;
			if (rest >= LEAST_PIXELS && row + 1 >= firstRow && row < lastRow)
				this.add(~i, (tree.restX[i]! - left) * scale, rest, row + 1);
			i++;
		}
		return this.boxes;
	}

	private add(node: number, x: number, width: number, row: number): void {
		if (this.boxes.count === this.boxes.node.length) this.grow();
		const { boxes } = this;
		const at = boxes.count++;
		boxes.node[at] = node;
		boxes.x[at] = x;
		boxes.width[at] = width;
		boxes.row[at] = row;
	}

	private grow(): void {
		const larger = makeBoxes(this.boxes.node.length * 2);

		for (const column of ["node", "x", "width", "row"] as const) larger[column].set(this.boxes[column]);
		larger.count = this.boxes.count;
		this.boxes = larger;
	}
}

/* The node (or ~node for a remainder) at a row and a horizontal share of the view, or undefined. */
export function hit(tree: Tree, root: number, row: number, share: number): number | undefined {
	const x = tree.x[root]! + share * tree.width[root]!;
	let node = root;

	for (let level = 0; level < row; level++) {
		let child = node + 1;
		while (child < tree.end[node]! && x >= tree.x[child]! + tree.width[child]!) child = tree.end[child]!;
		if (child >= tree.end[node]!) {
			const isRest = x >= tree.restX[node]! && x < tree.restX[node]! + tree.leftOutValue[node]!;
			return isRest && level + 1 === row ? ~node : undefined;
		}
		node = child;
	}
	return node;
}

/* Levels of the branch, the root included, and one more where a remainder is deepest. */
export function levelsOf(tree: Tree, root: number): number {
	let deepest = 0;

	for (let i = root; i < (tree.end[root] ?? 0); i++) {
		const depth = tree.depth[i]! + (tree.leftOut[i]! > 0 ? 1 : 0);
		if (depth > deepest) deepest = depth;
	}
	return deepest - (tree.depth[root] ?? 0) + 1;
}
