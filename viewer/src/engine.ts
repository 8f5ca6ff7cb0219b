/*
 * engine.ts - the one interface between the page and the numbers.
 *
 * A request is a JSON object, a reply is typed columns (doc/reply.md).  Two carriers implement it:
 * engine_http.ts asks the server of `allo view`, engine_worker.ts a web worker that runs the engine as WebAssembly.
 */
import type { Reply } from "./reply.ts";

export interface Base {
	file: number;
	from?: number;
	to?: number;
}

export interface Request {
	ask: string;
	file?: number;
	from?: number;
	to?: number;
	metric?: string;
	filters?: string[];
	base?: Base;
	[member: string]: unknown;
}

export interface Engine {
	/* Server features: source text, SQL and growing recordings. */
	readonly isServer: boolean;
	ask<Head>(request: Request): Promise<Reply<Head>>;
	/* Opens a dropped file, and returns the engine that has it; missing where that is impossible. */
	openFile?(name: string, bytes: ArrayBuffer): Promise<Engine>;
}

export interface Metric {
	name: string;
	title: string;
	unit: string;
	additive: boolean;
}

export interface Amount {
	bytes: number;
	blocks: number;
}

export interface Moment extends Amount {
	ns: number;
}

/* Head of the `open` reply. */
export interface OpenHead {
	file: { name: string; format?: string; recordings?: string[] }; // all of its run, if it is the largest of them
	growing?: boolean;
	generation?: number; // changes if calls have new numbers
	program?: { command?: string; pid?: number; host?: string; start_unix_ns?: number };
	has: Partial<Record<DataKind, boolean>>;
	lacks: { name: string; data: string; needs: string }[];
	duration_ns?: number;
	exact_ns?: number; // of a bounded recording: earlier events are known as sums only
	events?: number;
	peak?: Moment;
	end?: Amount;
	allocated?: Amount;
	metrics: Metric[];
	presets?: string[]; // of DHAT's tree
	marks?: { ns: number; name: string }[];
	threads?: { id: number; name: string }[];
	modules: { path: string; own: boolean }[];
	calls: number;
	/* gap: data are missing. */
	notes: { count: number; text: string; gap?: boolean }[];
	coverage?: { resident_bytes: number; heap_bytes: number; text: string };
	before?: BeforeHead;
}

/* The recording that a comparison compares with. */
export interface BeforeHead {
	name: string;
	duration_ns: number;
	events: number;
	peak: Moment;
	end: Amount;
	allocated: Amount;
	threads: number;
}

export type DataKind =
	| "time"
	| "lifetimes"
	| "threads"
	| "sizes"
	| "blocks"
	| "labels"
	| "names"
	| "lines"
	| "accesses"
	| "resident"
	| "sampled"
	| "comparison";
