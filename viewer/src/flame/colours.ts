/* colours.ts - which colour each box has: by module, by kind of code, or by change against a base. */
import type { Names } from "../names.ts";
import { type Palette, shadesOf } from "../palette.ts";
import type { Tree } from "./layout.ts";

export interface Colouring {
	title: string;
	colours: readonly string[];
	index: Uint8Array; // by node
	legend: { label: string; colour: number }[];
}

export const COLOUR_MODES = [
	{ name: "module", title: "Module" },
	{ name: "kind", title: "Own code" },
] as const;

const SHADES = 3; /* of each module, by function */

/* Modules by their own value, so that the nine largest always have different colours. */
function rankModules(tree: Tree, names: Names): number[] {
	const sums = new Map<number, number>();

	for (let i = 1; i < tree.count; i++) {
		const { module } = names.of(tree.call[i]!);
		sums.set(module, (sums.get(module) ?? 0) + tree.self[i]! + tree.leftOutValue[i]!);
	}
	return [...sums].sort((a, b) => b[1] - a[1]).map(([module]) => module);
}

function byModule(
	tree: Tree,
	names: Names,
	palette: Palette,
	moduleName: (module: number) => string,
): Colouring {
	const others = palette.modules.length - 1;
	const ranked = rankModules(tree, names);
	const colourOf = new Map(ranked.map((module, rank) => [module, Math.min(rank, others)]));
	const index = new Uint8Array(tree.count);

	for (let i = 0; i < tree.count; i++) {
		const call = tree.call[i]!;
		const rank = i === 0 ? others : (colourOf.get(names.of(call).module) ?? others);
		index[i] = rank * SHADES + (call % SHADES);
	}
	const legend = ranked.slice(0, others).map((module, rank) => ({
		label: moduleName(module) || "unknown module",
		colour: rank * SHADES,
	}));
	if (ranked.length > others) legend.push({ label: "other modules", colour: others * SHADES });
	return { title: "Module", colours: palette.modules.flatMap(shadesOf), index, legend };
}

const KIND_LABELS = ["own code", "library", "wrapper or runtime", "allocator", "start-up", "unknown"];

function byKind(tree: Tree, names: Names, palette: Palette): Colouring {
	const index = new Uint8Array(tree.count);
	const seen = new Set<number>();

	for (let i = 0; i < tree.count; i++) {
		index[i] = i === 0 ? palette.kinds.length - 1 : Math.min(names.of(tree.call[i]!).kind, 5);
		if (i > 0) seen.add(index[i]!);
	}
	const legend = [...seen].sort().map((kind) => ({ label: KIND_LABELS[kind]!, colour: kind }));
	return { title: "Own code", colours: palette.kinds, index, legend };
}

/* Steps of relative change: up to 5 %, 25 %, more; either way. */
export function changeStep(total: number, before: number): number {
	const larger = Math.max(total, before);
	const change = larger === 0 ? 0 : (total - before) / larger;
	const size = Math.abs(change);
	const step = size < 0.001 ? 0 : size < 0.05 ? 1 : size < 0.25 ? 2 : 3;

	return 3 + Math.sign(change) * step;
}

function byChange(tree: Tree, before: Float64Array, palette: Palette): Colouring {
	const index = new Uint8Array(tree.count);

	for (let i = 0; i < tree.count; i++) index[i] = changeStep(tree.total[i]!, before[i]!);
	const legend = [
		{ label: "\u25bc shrank", colour: 0 },
		{ label: "same", colour: 3 },
		{ label: "\u25b2 grew", colour: 6 },
	];
	return { title: "Change", colours: palette.changes, index, legend };
}

export function colourTree(
	tree: Tree,
	mode: string,
	names: Names,
	palette: Palette,
	moduleName: (module: number) => string,
): Colouring {
	if (tree.before) return byChange(tree, tree.before, palette);
	if (mode === "kind") return byKind(tree, names, palette);
	return byModule(tree, names, palette, moduleName);
}
