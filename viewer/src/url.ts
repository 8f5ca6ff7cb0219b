/*
 * url.ts - the page's state as the fragment of its URL, and back.
 *
 *     #v=1&view=flame&t=2.1s..7.9s&m=peak_bytes&f=focus:http&f=hide:mod:libc
 *
 * Each field of the state is one line of the table below.  Values that equal the default are not written, so that links
 * stay short.  Unknown and damaged fields are ignored: a link never breaks the page.
 */
import type { Base } from "./engine.ts";
import { readTime, writeTime } from "./format.ts";

export const URL_VERSION = 1;

export interface Range {
	from: number;
	to: number; // exclusive
}

export interface State {
	view: string;
	file: number;
	time: Range | undefined; // selection; undefined: everything
	window: Range | undefined; // part of the timeline that the strip shows
	metric: string; // "": the default
	filters: string[];
	base: Base | undefined;
	search: string;
	zoom: number[]; // flame graph: calls from the outermost
	call: number; // selected function
	invert: boolean;
	upward: boolean; // flames instead of icicles
	colour: string;
	by: string; // rows of the table
	sort: string; // column, "" for the default
	ascending: boolean;
	preset: string; // of DHAT's tree
	threshold: string; // percent of the whole, "" for that of the preset
	opened: number[]; // nodes of DHAT's tree with all children: pairs of a point and a depth
	suppressed: string[]; // leaks with these patterns
	path: string; // source file
	line: number; // of the source file; 0: the one with the largest cost
	query: string; // SQL
	chart: string; // of its result, "" for none
	axes: number[]; // of the chart: columns across and up
	sizes: Range | undefined; // blocks of these sizes
	chain: number; // blocks that realloc made out of this one; 0: all
	kind: string; // of leaks, "" for all
	repeats: boolean; // only generations that repeat
	bytes: boolean; // histograms count bytes, not blocks
	row: number; // the current one of leaks and blocks
	marks: number[]; // set by the user while watching
}

export const DEFAULTS: State = {
	view: "overview",
	file: 0,
	time: undefined,
	window: undefined,
	metric: "",
	filters: [],
	base: undefined,
	search: "",
	zoom: [],
	call: 0,
	invert: false,
	upward: false,
	colour: "module",
	by: "function",
	sort: "",
	ascending: false,
	preset: "",
	threshold: "",
	opened: [],
	suppressed: [],
	path: "",
	line: 0,
	query: "",
	chart: "",
	axes: [],
	sizes: undefined,
	chain: 0,
	kind: "",
	repeats: false,
	bytes: false,
	row: 0,
	marks: [],
};

interface Codec<T> {
	write(value: T): string[];
	read(texts: string[]): T | undefined;
}

const text: Codec<string> = { write: (value) => [value], read: (texts) => texts[0] };
const flag: Codec<boolean> = { write: (value) => [value ? "1" : "0"], read: ([word]) => word === "1" };
const texts: Codec<string[]> = { write: (value) => value, read: (words) => words };

const readNumber = (word: string | undefined) =>
	word !== undefined && /^\d{1,15}$/.test(word) ? Number(word) : undefined;

const percent: Codec<string> = {
	write: (value) => [value],
	read: ([word]) => (word !== undefined && /^\d{1,3}(\.\d{1,6})?$/.test(word) ? word : undefined),
};

const number: Codec<number> = { write: (value) => [String(value)], read: ([word]) => readNumber(word) };

const numbers: Codec<number[]> = {
	write: (value) => (value.length > 0 ? [value.join(".")] : []),
	read: ([word]) => {
		const parts = (word ?? "").split(".").map(readNumber);
		return parts.every((part) => part !== undefined) ? (parts as number[]) : undefined;
	},
};

function rangeCodec(write: (value: number) => string, read: (text: string) => number | undefined) {
	const codec: Codec<Range | undefined> = {
		write: (range) => (range ? [`${write(range.from)}..${write(range.to)}`] : []),
		read: ([word]) => {
			const [from, to] = (word ?? "").split("..").map(read);
			return from !== undefined && to !== undefined && from < to ? { from, to } : undefined;
		},
	};
	return codec;
}

const times = rangeCodec(writeTime, readTime);
const sizes = rangeCodec(String, readNumber);

/* "0", or "0:2.1s..7.9s" with a range. */
const base: Codec<Base | undefined> = {
	write: (value) => {
		if (!value) return [];
		const isWhole = value.from === undefined || value.to === undefined;
		return [
			isWhole ? String(value.file) : `${value.file}:${writeTime(value.from!)}..${writeTime(value.to!)}`,
		];
	},
	read: ([word]) => {
		const [file, range] = (word ?? "").split(":");
		const index = readNumber(file);
		return index === undefined ? undefined : { file: index, ...times.read([range ?? ""]) };
	},
};

type Field<Name extends keyof State> = { name: Name; key: string; codec: Codec<State[Name]> };

const field = <Name extends keyof State>(
	name: Name,
	key: string,
	codec: Codec<State[Name]>,
): Field<Name> => ({
	name,
	key,
	codec,
});

const FIELDS = [
	field("view", "view", text),
	field("file", "file", number),
	field("time", "t", times),
	field("window", "w", times),
	field("metric", "m", text),
	field("filters", "f", texts),
	field("base", "b", base),
	field("search", "q", text),
	field("zoom", "z", numbers),
	field("call", "call", number),
	field("invert", "inv", flag),
	field("upward", "up", flag),
	field("colour", "c", text),
	field("by", "by", text),
	field("sort", "sort", text),
	field("ascending", "asc", flag),
	field("preset", "dhat", text),
	field("threshold", "min", percent),
	field("opened", "open", numbers),
	field("suppressed", "sup", texts),
	field("path", "src", text),
	field("line", "line", number),
	field("query", "sql", text),
	field("chart", "chart", text),
	field("axes", "xy", numbers),
	field("sizes", "size", sizes),
	field("chain", "chain", number),
	field("kind", "kind", text),
	field("repeats", "rep", flag),
	field("bytes", "bytes", flag),
	field("row", "row", number),
	field("marks", "mark", numbers),
] as Field<keyof State>[];

/* Leaves the characters that fragments allow and filters use, so that links stay readable. */
const escapeValue = (value: string) =>
	encodeURIComponent(value).replace(/%(3A|2F|2C|40|24|3D)/g, decodeURIComponent);

export function writeState(state: State): string {
	const parts = [`v=${URL_VERSION}`];

	for (const { name, key, codec } of FIELDS) {
		if (JSON.stringify(state[name]) === JSON.stringify(DEFAULTS[name])) continue;
		for (const value of codec.write(state[name])) parts.push(`${key}=${escapeValue(value)}`);
	}
	return `#${parts.join("&")}`;
}

function splitFragment(fragment: string): Map<string, string[]> {
	const found = new Map<string, string[]>();

	for (const part of fragment.replace(/^[#?]/, "").split("&")) {
		const cut = part.indexOf("=");
		if (cut <= 0) continue;
		const key = part.slice(0, cut);
		try {
			found.set(key, [...(found.get(key) ?? []), decodeURIComponent(part.slice(cut + 1))]);
		} catch {
			/* A damaged escape: the field keeps its default. */
		}
	}
	return found;
}

export function readState(fragment: string): State {
	const found = splitFragment(fragment);
	const state = { ...DEFAULTS };

	for (const { name, key, codec } of FIELDS) {
		const words = found.get(key);
		const value = words && codec.read(words);
		if (value !== undefined) Object.assign(state, { [name]: value });
	}
	return state;
}

/* The server's token, which arrives once as "#k=...". */
export function readToken(fragment: string): string | undefined {
	return splitFragment(fragment).get("k")?.[0];
}
