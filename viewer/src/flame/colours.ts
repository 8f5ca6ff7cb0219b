/* colours.ts - which colour each box has: by module, kind of code, function or age, or by change against a base. */
import { formatEdge, formatValue } from "../format.ts";
import type { Names } from "../names.ts";
import { type Palette, shadesOf } from "../palette.ts";
import type { Tree } from "./layout.ts";

export interface Colouring {
	title: string;
	colours: readonly string[];
	index: Uint8Array; // by node
	legend: { label: string; colour: number; mark?: "new" | "gone" }[];
}

export const COLOUR_MODES = [
	{ name: "module", title: "Module" },
	{ name: "kind", title: "Own code" },
	{ name: "function", title: "Function" },
	{ name: "age", title: "Age of blocks" },
] as const;

const SHADES = 3; /* of each module, by function */

/* Modules by their own value. */
function modulesByCost(tree: Tree, names: Names): number[] {
	const sums = new Map<number, number>();

	for (let i = 1; i < tree.count; i++) {
		const { module } = names.of(tree.call[i]!);
		sums.set(module, (sums.get(module) ?? 0) + tree.self[i]! + tree.leftOutValue[i]!);
	}
	return [...sums].sort((a, b) => b[1] - a[1]).map(([module]) => module);
}

const ranks = new WeakMap<Names, Map<number, number>>();

/* A module has one colour in all views and zooms.  The first tree gives the nine largest modules different colours. */
function rankModules(names: Names, modules: number[]): Map<number, number> {
	const known = ranks.get(names) ?? new Map<number, number>();

	for (const module of modules) if (!known.has(module)) known.set(module, known.size);
	ranks.set(names, known);
	return known;
}

function byModule(
	tree: Tree,
	names: Names,
	palette: Palette,
	moduleName: (module: number) => string,
): Colouring {
	const others = palette.modules.length - 1;
	const modules = modulesByCost(tree, names);
	const known = rankModules(names, modules);
	const rankOf = (module: number) => Math.min(known.get(module) ?? others, others);
	const index = new Uint8Array(tree.count);

	for (let i = 0; i < tree.count; i++) {
		const call = tree.call[i]!;
		const rank = i === 0 ? others : rankOf(names.of(call).module);
		index[i] = rank * SHADES + (call % SHADES);
	}
	const own = modules.filter((module) => rankOf(module) < others);
	const isInterpreted = tree.call.some((call) => names.of(call).module === 0 && names.of(call).file !== "");
	const legend = own.map((module) => ({
		label: moduleName(module) || (isInterpreted ? "interpreted code" : "unknown module"),
		colour: rankOf(module) * SHADES,
	}));
	if (own.length < modules.length) legend.push({ label: "other modules", colour: others * SHADES });
	return { title: "Module", colours: palette.modules.flatMap(shadesOf), index, legend };
}

/* Equal names have equal colours, in every file. */
function hueOf(name: string, count: number): number {
	let hash = 0;

	for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) >>> 0;
	return hash % count;
}

function byFunction(tree: Tree, names: Names, palette: Palette): Colouring {
	const others = palette.modules.length - 1;
	const index = Uint8Array.from(tree.call, (call) =>
		call === 0 ? others : hueOf(names.of(call).name, others),
	);

	return { title: "Function", colours: palette.modules, index, legend: [] };
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

const decadeOf = (age: number): number => Math.floor(Math.log10(Math.max(1, age)));

/* Powers of ten below the highest age; all that are younger share the first colour, as do boxes without blocks. */
function byAge(age: Float64Array, palette: Palette, unit: string): Colouring {
	const last = palette.ages.length - 1;
	const highest = decadeOf(age.reduce((a, b) => Math.max(a, b), 0));
	const stepOf = (value: number) => Math.max(0, last - highest + decadeOf(value));
	const index = Uint8Array.from(age, stepOf);
	const legend = palette.ages.flatMap((_, step) => {
		const least = formatEdge(10 ** (step + highest - last), unit);
		if (step === 0 || step + highest < last) return [];
		return [{ label: step === last ? `${least} and older` : least, colour: step }];
	});
	return { title: "Age of blocks", colours: palette.ages, index, legend };
}

/* "average age 12.3 ms" */
export const ageText = (age: number, unit: string): string =>
	age < 0 ? "" : `average age ${formatValue(age, unit)}`;

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
	const legend: Colouring["legend"] = [
		{ label: "\u25bc shrank", colour: 0 },
		{ label: "same", colour: 3 },
		{ label: "\u25b2 grew", colour: 6 },
		{ label: "new", colour: 6, mark: "new" },
		{ label: "gone", colour: 0, mark: "gone" },
	];
	return { title: "Change", colours: palette.changes, index, legend };
}

export function colourTree(
	tree: Tree,
	mode: string,
	names: Names,
	palette: Palette,
	moduleName: (module: number) => string,
	ageUnit: string,
): Colouring {
	if (tree.before) return byChange(tree, tree.before, palette);
	if (mode === "age" && tree.age) return byAge(tree.age, palette, ageUnit);
	if (mode === "function") return byFunction(tree, names, palette);
	if (mode === "kind") return byKind(tree, names, palette);
	return byModule(tree, names, palette, moduleName);
}
