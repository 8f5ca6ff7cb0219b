/* tree_rows.ts - which nodes of a tree are rows on screen, given the open ones. */
import { childrenOf, type Tree } from "../flame/layout.ts";

/* Opens the largest path down to where it branches into parts below this share. */
const WORTH_OPENING = 0.3;

export function defaultExpansion(tree: Tree): Set<number> {
	const open = new Set<number>();
	const least = WORTH_OPENING * (tree.total[0] ?? 0);

	for (let node = 0; tree.end[node]! > node + 1 && tree.total[node]! >= least; node++) open.add(node);
	return open;
}

/* Nodes in order; ~node stands for the remainder below a node. */
export function visibleRows(tree: Tree, open: Set<number>): Int32Array {
	const rows: number[] = [];
	const pending: number[] = tree.count > 0 ? [0] : [];

	while (pending.length > 0) {
		const node = pending.pop()!;
		rows.push(node);
		if (node < 0 || !open.has(node)) continue;
		if (tree.leftOut[node]! > 0) pending.push(~node);
		for (const child of childrenOf(tree, node).reverse()) pending.push(child);
	}
	return Int32Array.from(rows);
}
