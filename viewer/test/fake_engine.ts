/*
 * fake_engine.ts - answers every ask from a list of blocks, by the plainest loops.
 *
 * Slow and obviously right: UI tests compare the page with it.
 */
import type { Request } from "../src/engine.ts";
import { matcherOf } from "../src/pattern.ts";
import { type ColumnData, encodeReply } from "./encode.ts";
import { type Block, CALLS, DURATION, MODULES, makeBlocks, STACKS, THREADS } from "./fake_data.ts";

export const METRICS = [
	{ name: "peak_bytes", title: "Bytes at the peak", unit: "bytes", additive: true },
	{ name: "peak_blocks", title: "Blocks at the peak", unit: "count", additive: true },
	{ name: "alloc_bytes", title: "Allocated bytes", unit: "bytes", additive: true },
	{ name: "alloc_blocks", title: "Allocated blocks", unit: "count", additive: true },
	{ name: "end_bytes", title: "Bytes at the end", unit: "bytes", additive: true },
	{ name: "end_blocks", title: "Blocks at the end", unit: "count", additive: true },
];

interface Range {
	from: number;
	to: number;
}

interface Answer {
	head?: Record<string, unknown>;
	columns?: Record<string, ColumnData>;
}

const doubles = (values: number[]) => Float64Array.from(values);
const ids = (values: number[]) => Uint32Array.from(values);
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

/* The comparison of two engines is file 2 of the first one. */
const PAIR = 2;

/* Columns of asks that have values before: the keys that a row is known by, and the values. */
const COMPARED: Record<string, { keys: string[]; values: string[] }> = {
	sizes: { keys: ["low", "high"], values: ["blocks", "bytes"] },
	lifetimes: { keys: ["low", "high"], values: ["blocks", "bytes"] },
	heat: { keys: ["low_size", "low_life"], values: ["blocks", "bytes"] },
	leaks: { keys: ["stack"], values: ["bytes", "blocks"] },
	threads: {
		keys: ["id"],
		values: ["alloc_blocks", "alloc_bytes", "live_bytes", "temporary_blocks", "frees_own", "frees_other"],
	},
};
const HEADS = ["bytes", "blocks", "live_blocks", "live_bytes"];

export class FakeEngine {
	readonly blocks: Block[];
	asked: Request[] = [];

	constructor(
		blocks: Block[] = makeBlocks(),
		readonly old?: FakeEngine, // the second file
	) {
		this.blocks = blocks;
	}

	/* The engine and the request of the values before; undefined without a base. */
	private before(request: Request): { engine: FakeEngine; request: Request } | undefined {
		const { base, ...rest } = request;
		const isPair = request.file === PAIR && this.old !== undefined;
		if (!base && !isPair) return undefined;
		const range = base ? { from: base.from, to: base.to } : {};
		return { engine: isPair ? this.old! : this, request: { ...rest, ...range, file: 0 } as Request };
	}

	/* Adds columns of values before to an answer, and the rows that only the base has. */
	private compare(request: Request, now: Answer): Answer {
		const before = this.before(request);
		const { keys, values } = COMPARED[request.ask] ?? { keys: [], values: [] };
		if (!before || keys.length === 0 || !now.columns) return now;
		const old = before.engine.answers[request.ask]!(before.request);
		const read = (answer: Answer, name: string) => [...(answer.columns![name] as Float64Array)];
		const keysOf = (answer: Answer) =>
			read(answer, keys[0]!).map((_, row) => keys.map((key) => read(answer, key)[row]).join(" "));
		const [known, past] = [keysOf(now), keysOf(old)];
		const gone = past.map((_, row) => row).filter((row) => !known.includes(past[row]!));
		if (request.ask === "heat" || request.ask === "sizes" || request.ask === "lifetimes")
			for (const name of [...keys, ...values])
				now.columns[name] = doubles([
					...read(now, name),
					...gone.map((row) => (values.includes(name) ? 0 : read(old, name)[row]!)),
				]);
		const rows = keysOf(now).map((key) => past.indexOf(key));
		for (const name of values)
			now.columns[`before_${name}`] = doubles(rows.map((row) => read(old, name)[row] ?? 0));
		if (request.ask === "sizes") {
			const sizes = read(old, "size");
			now.columns.before_size_blocks = doubles(
				read(now, "size").map((size) => read(old, "size_blocks")[sizes.indexOf(size)] ?? 0),
			);
		}
		if (request.ask === "threads") now.columns.before_freed_blocks = now.columns.freed_blocks!;
		for (const name of HEADS) if (old.head && name in old.head) now.head![`before_${name}`] = old.head[name];
		return now;
	}

	ask(request: Request): Uint8Array<ArrayBuffer> {
		this.asked.push(request);
		const answer = this.answers[request.ask];
		try {
			if (!answer) throw new Error(`unknown ask '${request.ask}'`);
			const { head, columns } = this.compare(request, answer(request));
			return encodeReply(request.ask, head ?? {}, columns);
		} catch (error) {
			return encodeReply(request.ask, {
				error: { code: "usage", message: (error as Error).message, hint: "" },
			});
		}
	}

	/* Times. */

	private range({ from, to }: { from?: number; to?: number }): Range {
		return { from: from ?? 0, to: Math.min(to ?? DURATION, DURATION) };
	}

	private isLive(block: Block, ns: number): boolean {
		return block.alloc <= ns && (block.free < 0 || block.free > ns);
	}

	liveAt(ns: number): number {
		return sum(this.blocks.filter((block) => this.isLive(block, ns)).map(({ size }) => size));
	}

	/* The highest moment: at the start, or right after an allocation. */
	peakIn({ from, to }: Range): { ns: number; bytes: number; blocks: number } {
		const events = this.blocks.flatMap((block) => [
			{ ns: block.alloc, bytes: block.size, blocks: 1 },
			...(block.free >= 0 ? [{ ns: block.free, bytes: -block.size, blocks: -1 }] : []),
		]);
		events.sort((a, b) => a.ns - b.ns);
		let [bytes, blocks] = [0, 0];
		let best = { ns: from, bytes: -1, blocks: 0 };
		for (const event of events) {
			if (event.ns >= to) break;
			if (event.ns > from && best.bytes < 0) best = { ns: from, bytes, blocks };
			bytes += event.bytes;
			blocks += event.blocks;
			if (event.ns >= from && bytes > best.bytes) best = { ns: event.ns, bytes, blocks };
		}
		return best.bytes < 0 ? { ns: from, bytes, blocks } : best;
	}

	private value(metric: string, range: Range): (block: Block) => number {
		const amount = metric.endsWith("_bytes") ? (block: Block) => block.size : () => 1;
		const peak = metric.startsWith("peak_") ? this.peakIn(range).ns : 0;
		const tests: Record<string, (block: Block) => boolean> = {
			alloc: (block) => block.alloc >= range.from && block.alloc < range.to,
			peak: (block) => this.isLive(block, peak),
			end: (block) => this.isLive(block, range.to - 1),
		};
		const test = tests[metric.split("_")[0]!];
		if (!test) throw new Error(`unknown metric '${metric}'`);
		return (block) => (test(block) ? amount(block) : 0);
	}

	/* Stacks after the filters; undefined: removed. */
	private stackOf(stack: number, filters: string[]): number[] | undefined {
		let calls = STACKS[stack]!;
		for (const filter of filters) {
			const cut = filter.indexOf(":");
			const verb = cut < 0 ? filter : filter.slice(0, cut);
			const matcher = matcherOf(filter.slice(cut + 1));
			const matches = (call: number) =>
				matcher?.(CALLS[call - 1]!, MODULES[CALLS[call - 1]!.module - 1]!.path) ?? false;
			if (verb === "focus" && !calls.some(matches)) return undefined;
			if (verb === "ignore" && calls.some(matches)) return undefined;
			if (verb === "hide") calls = calls.filter((call) => !matches(call));
			if (verb === "show") calls = calls.filter(matches);
			if (verb === "mine") calls = calls.filter((call) => CALLS[call - 1]!.kind === 0);
		}
		return calls;
	}

	/* Value and value of the base, by stack, of a request. */
	private samples(request: Request, metric = request.metric ?? "peak_bytes") {
		const value = this.value(metric, this.range(request));
		const base = this.before(request);
		const before = base?.engine.value(metric, this.range(base.request)) ?? (() => 0);
		const old = base?.engine.blocks ?? [];
		return STACKS.map((_, stack) => {
			const blocks = this.blocks.filter((block) => block.stack === stack);
			return {
				calls: this.stackOf(stack, request.filters ?? []),
				value: sum(blocks.map(value)),
				before: sum(old.filter((block) => block.stack === stack).map(before)),
			};
		}).flatMap(({ calls, ...values }) => (calls ? [{ calls, ...values }] : []));
	}

	private readonly answers: Record<string, (request: Request) => Answer> = {
		open: ({ file }) => {
			if (file && !this.old) throw new Error(`there is no file ${file}: 1 are open`);
			if (file === 1)
				return { head: { ...this.old!.openHead(), file: { name: "old.allo", format: "allo" } } };
			if (file && file > PAIR) throw new Error(`there is no file ${file}: 3 are open`);
			return { head: file === PAIR ? this.pairHead() : this.openHead() };
		},
		names: (request) => this.names(request.ids as number[]),
		timeline: (request) => this.timeline(request),
		history: (request) => this.history(request),
		tree: (request) => this.tree(request),
		table: (request) => this.table(request),
		peek: (request) => this.peek(request),
		search: (request) => this.search(request),
		leaks: (request) => this.leaks(request),
		generations: (request) => this.generations(request),
		stack: (request) => {
			const calls = [...STACKS[(request.stack as number) - 1]!].reverse();
			return { columns: { call: ids(calls), line: ids(calls.map((call) => CALLS[call - 1]!.line)) } };
		},
		sizes: (request) => this.sizes(request),
		lifetimes: (request) => this.lifetimes(request),
		heat: (request) => this.heat(request),
		threads: (request) => this.threads(request),
		blocks: (request) => this.page(request),
		findings: () => this.findings(),
		source: ({ path }) => {
			const text = Array.from({ length: 240 }, (_, i) => `\tline ${i + 1} of ${path}`);
			const cost = text.map((_, i) => (i === 200 ? 123456 : 0));
			return {
				columns: { line: ids(text.map((_, i) => i + 1)), text, self: doubles(cost), total: doubles(cost) },
			};
		},
		sql: () => ({ head: { names: ["name", "bytes"] }, columns: { name: ["a", "b"], bytes: ["12", "7"] } }),
		live: () => ({ head: { ns: DURATION, is_running: false } }),
	};

	/* Tests change it to describe other files. */
	openHead(): Record<string, unknown> {
		const peak = this.peakIn({ from: 0, to: DURATION });
		const left = this.blocks.filter((block) => block.free < 0);
		const has = ["time", "lifetimes", "threads", "sizes", "blocks", "lines", "names", "resident"];
		return {
			file: { name: "server.4711.allo", format: "allo" },
			program: { command: "./server --port 8080", pid: 4711, host: "build-7" },
			has: Object.fromEntries(has.map((name) => [name, true])),
			lacks: [
				{ name: "accesses", data: "reads and writes of blocks", needs: "valgrind --tool=dhat PROGRAM" },
				{ name: "labels", data: "labels", needs: "allo_label_set() of allo.h" },
			],
			duration_ns: DURATION,
			events: this.blocks.length * 2 - left.length,
			peak,
			end: { bytes: sum(left.map(({ size }) => size)), blocks: left.length },
			allocated: { bytes: sum(this.blocks.map(({ size }) => size)), blocks: this.blocks.length },
			metrics: METRICS,
			marks: [
				{ ns: 1_600_000_000, name: "warm" },
				{ ns: 5_600_000_000, name: "batch done" },
			],
			threads: THREADS,
			modules: MODULES,
			calls: CALLS.length,
			notes: [{ count: 3, text: "stacks were cut after 512 calls" }],
			coverage: {
				resident_bytes: Math.round(peak.bytes * 1.42),
				heap_bytes: peak.bytes,
				text: "malloc held most of the resident memory at the peak",
			},
		};
	}

	/* Of the comparison. */
	pairHead(): Record<string, unknown> {
		const head = this.openHead();
		const { peak, end, allocated, duration_ns, events } = this.old!.openHead();
		const has = { ...(head.has as object), comparison: true };
		return {
			...head,
			file: { name: "server.4711.allo" },
			has,
			before: { name: "old.allo", peak, end, allocated, duration_ns, events, threads: 4 },
		};
	}

	private names(wanted: number[]): Answer {
		const calls = wanted.map((call) => {
			const found = CALLS[call - 1];
			if (!found) throw new Error(`there is no call ${call}`);
			return found;
		});
		return {
			head: { count: CALLS.length },
			columns: {
				call: ids(wanted),
				name: calls.map(({ name }) => name),
				full: calls.map(({ name, full }) => (name === full ? "" : full)),
				file: calls.map(({ file }) => file),
				line: ids(calls.map(({ line }) => line)),
				module: ids(calls.map(({ module }) => module)),
				kind: Uint8Array.from(calls.map(({ kind }) => kind)),
			},
		};
	}

	private timeline(request: Request): Answer {
		const { from, to } = this.range(request);
		const steps = Math.min((request.steps as number) ?? 1000, 400);
		const step = (to - from) / steps;
		const at = Array.from({ length: steps }, (_, i) => Math.round(from + i * step));
		const live = at.map((ns) => this.liveAt(ns));
		const max = live.map((bytes, i) => Math.max(bytes, live[i + 1] ?? bytes) * (1 + (i % 5) * 0.004));
		const zero = new Float64Array(steps);
		const before = request.file === PAIR ? this.before(request) : undefined;
		const old = before?.engine.timeline({ ...before.request, from, to });
		const oldColumns = ["ns", "min", "max"].map((name) => [`before_${name}`, old?.columns?.[name]]);
		return {
			head: {
				from,
				to,
				step_ns: step,
				peak: this.peakIn({ from, to }),
				...(old ? { before: old.head } : {}),
			},
			columns: {
				...(old ? Object.fromEntries(oldColumns) : {}),
				ns: doubles(at),
				min: doubles(live.map((bytes, i) => Math.min(bytes, live[i + 1] ?? bytes))),
				max: doubles(max),
				end: doubles(live),
				blocks: zero,
				allocs: zero,
				frees: zero,
				alloc_bytes: zero,
				rss_ns: doubles(at.filter((_, i) => i % 20 === 0)),
				rss_bytes: doubles(live.filter((_, i) => i % 20 === 0).map((bytes) => bytes * 1.2 + 3e6)),
			},
		};
	}

	private history(request: Request): Answer {
		const { from, to } = this.range(request);
		const steps = (request.steps as number) ?? 60;
		const at = Array.from({ length: steps }, (_, i) => Math.round(from + ((i + 1) * (to - from)) / steps));
		const bytes = new Map<number, number[]>();
		for (const block of this.blocks) {
			const call = this.stackOf(block.stack, request.filters ?? [])?.at(-1);
			if (call === undefined) continue;
			const row = bytes.get(call) ?? at.map(() => 0);
			for (const [i, ns] of at.entries()) row[i]! += this.isLive(block, ns - 1) ? block.size : 0;
			bytes.set(call, row);
		}
		const rows = [...bytes].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1]));
		const most = (request.most as number) ?? 8;
		return {
			head: { rows: rows.length },
			columns: {
				ns: doubles(at),
				call: ids(rows.slice(0, most).map(([call]) => call)),
				bytes: doubles(rows.slice(0, most).flatMap(([, values]) => values)),
				rest: doubles(at.map((_, i) => sum(rows.slice(most).map(([, values]) => values[i]!)))),
			},
		};
	}

	private tree(request: Request): Answer {
		let samples = this.samples(request);
		const all = sum(this.samples({ ...request, filters: [] }).map(({ value }) => value));
		const whole = sum(samples.map(({ value }) => value));
		const pivot = request.pivot as number | undefined;
		const root = (request.root as number[] | undefined) ?? [];
		samples = samples.filter(({ calls }) => root.every((call, i) => calls[i] === call));
		if (pivot !== undefined)
			samples = samples
				.filter(({ calls }) => calls.includes(pivot))
				.map(({ calls, ...values }) => ({
					...values,
					calls: request.invert
						? calls.slice(0, calls.lastIndexOf(pivot) + 1)
						: calls.slice(calls.indexOf(pivot)),
				}));
		const nodes = treeNodes(samples, request.invert === true, (request.least as number) ?? 0.0005);
		const column = (pick: (node: TreeNode) => number) => nodes.map(pick);
		return {
			head: { sum: whole, whole: all, samples: samples.length },
			columns: {
				call: ids(column(({ call }) => call)),
				line: ids(column(() => 0)),
				depth: ids(column(({ depth }) => depth)),
				self: doubles(column(({ self }) => self)),
				total: doubles(column(({ total }) => total)),
				...(this.before(request)
					? {
							before_self: doubles(column(({ beforeSelf }) => beforeSelf)),
							before_total: doubles(column(({ before }) => before)),
						}
					: {}),
				left_out: ids(column(({ leftOut }) => leftOut)),
				left_out_value: doubles(column(({ leftOutValue }) => leftOutValue)),
			},
		};
	}

	private table(request: Request): Answer {
		const by = (request.by as string) ?? "function";
		const metrics = (request.metrics as string[]) ?? [request.metric ?? "peak_bytes"];
		const keyOf: Record<string, (call: number) => string> = {
			function: (call) => CALLS[call - 1]!.name,
			site: (call) => CALLS[call - 1]!.name,
			leaf: (call) => CALLS[call - 1]!.name,
			file: (call) => CALLS[call - 1]!.file || "(unknown)",
			module: (call) => MODULES[CALLS[call - 1]!.module - 1]!.path,
		};
		const key = keyOf[by];
		if (!key) throw new Error(`'${by}' is none of ${Object.keys(keyOf).join(", ")}`);
		const rows = new Map<string, { call: number; values: number[][] }>();
		const sums: number[] = [];
		const sumsBefore: number[] = [];
		metrics.forEach((metric, m) => {
			const samples = this.samples(request, metric);
			sums.push(sum(samples.map(({ value }) => value)));
			sumsBefore.push(sum(samples.map(({ before }) => before)));
			for (const { calls, value, before } of samples) {
				const own = responsible(calls, by);
				for (const name of new Set(calls.map(key))) {
					const row = rows.get(name) ?? { call: calls.find((call) => key(call) === name)!, values: [] };
					rows.set(name, row);
					row.values[m] ??= [0, 0, 0, 0];
					const add = row.values[m]!;
					if (own && key(own) === name) {
						add[0]! += value;
						add[2]! += before;
					}
					add[1]! += value;
					add[3]! += before;
				}
			}
		});
		const answer = this.tableRows(request, rows, metrics, by);
		const before = this.before(request) ? { before_sum: sumsBefore } : {};
		return { ...answer, head: { ...answer.head, sum: sums, ...before } };
	}

	private tableRows(
		request: Request,
		rows: Map<string, { call: number; values: number[][] }>,
		metrics: string[],
		by: string,
	): Answer {
		const isCall = by === "function" || by === "site" || by === "leaf";
		const search = ((request.search as string) ?? "").toLowerCase();
		const sort = (request.sort as string) ?? "self";
		const rank = ([name, { values }]: [string, { values: number[][] }]) => {
			const [self, total, before] = values[0] ?? [0, 0, 0];
			return sort === "total"
				? total!
				: sort === "change"
					? Math.abs(self! - before!)
					: sort === "name"
						? name
						: self!;
		};
		const list = [...rows].filter(
			([name, { values }]) =>
				name.toLowerCase().includes(search) && values.some((each) => each[1]! + each[3]! > 0),
		);
		list.sort((a, b) => (rank(a) < rank(b) ? 1 : rank(a) > rank(b) ? -1 : 0));
		if (sort === "name") list.reverse();
		if (request.ascending && sort !== "name") list.reverse();
		const offset = (request.offset as number) ?? 0;
		const page = list.slice(offset, offset + ((request.most as number) ?? 200));
		const columns: Record<string, ColumnData> = {
			call: ids(page.map(([, { call }]) => (isCall ? call : 0))),
			line: ids(page.map(() => 0)),
			name: page.map(([name]) => name),
			place: page.map(([, { call }]) => (isCall ? placeOf(call) : "")),
			via: page.map(() => ""),
		};
		metrics.forEach((metric, m) => {
			const pick = (i: number) => doubles(page.map(([, { values }]) => values[m]?.[i] ?? 0));
			columns[`self.${metric}`] = pick(0);
			columns[`total.${metric}`] = pick(1);
			if (!this.before(request)) return;
			columns[`before.self.${metric}`] = pick(2);
			columns[`before.total.${metric}`] = pick(3);
		});
		return { head: { rows: list.length }, columns };
	}

	private peek(request: Request): Answer {
		const call = request.call as number;
		const edges = new Map<string, { call: number; total: number; before: number; isCallee: number }>();
		let [self, total, selfBefore, totalBefore] = [0, 0, 0, 0];
		for (const { calls, value, before } of this.samples(request)) {
			const at = calls.indexOf(call);
			if (at < 0) continue;
			total += value;
			totalBefore += before;
			if (responsible(calls, "function") === call) {
				self += value;
				selfBefore += before;
			}
			for (const [neighbour, isCallee] of [
				[calls[at - 1], 0],
				[calls[at + 1], 1],
			] as const) {
				if (neighbour === undefined) continue;
				const key = `${neighbour} ${isCallee}`;
				const edge = edges.get(key) ?? { call: neighbour, total: 0, before: 0, isCallee };
				edge.total += value;
				edge.before += before;
				edges.set(key, edge);
			}
		}
		const list = [...edges.values()].sort((a, b) => b.total - a.total);
		return {
			head: {
				call,
				self,
				total,
				outermost: 0,
				...(this.before(request) ? { before_self: selfBefore, before_total: totalBefore } : {}),
			},
			columns: {
				call: ids(list.map((edge) => edge.call)),
				total: doubles(list.map((edge) => edge.total)),
				...(this.before(request) ? { before_total: doubles(list.map((edge) => edge.before)) } : {}),
				is_callee: Uint8Array.from(list.map((edge) => edge.isCallee)),
			},
		};
	}

	private search(request: Request): Answer {
		const matcher = matcherOf(request.text as string);
		if (!matcher) throw new Error("the pattern is not complete");
		const matches = (call: number) => matcher(CALLS[call - 1]!, MODULES[CALLS[call - 1]!.module - 1]!.path);
		const totals = new Map<number, number>();
		let value = 0;
		for (const sample of this.samples(request)) {
			const found = new Set(sample.calls.filter(matches));
			if (found.size > 0) value += sample.value;
			for (const call of found) totals.set(call, (totals.get(call) ?? 0) + sample.value);
		}
		const list = [...totals].sort((a, b) => b[1] - a[1]).slice(0, (request.most as number) ?? 50);
		return {
			head: { matches: totals.size, value },
			columns: { call: ids(list.map(([call]) => call)), total: doubles(list.map(([, total]) => total)) },
		};
	}

	private leaks(request: Request): Answer {
		const { to } = this.range(request);
		const rows = STACKS.map((calls, stack) => {
			const blocks = this.blocks.filter((block) => block.stack === stack && this.isLive(block, to - 1));
			const births = Array.from(
				{ length: 10 },
				(_, tenth) => blocks.filter(({ alloc }) => Math.floor((10 * alloc) / DURATION) === tenth).length,
			);
			const kind = births.slice(1).every((n) => n === 0)
				? 0
				: births.filter((n) => n > 0).length >= 8
					? 1
					: 2;
			return { stack: stack + 1, site: responsible(calls, "function") ?? 0, blocks, births, kind };
		}).filter(({ blocks }) => blocks.length > 0);
		const kinds = (request.kinds as string[] | undefined)?.map((name) =>
			["start", "growing", "later"].indexOf(name),
		);
		const bytes = (row: (typeof rows)[number]) => sum(row.blocks.map(({ size }) => size));
		const list = rows
			.filter(({ kind }) => !kinds || kinds.includes(kind))
			.sort((a, b) => bytes(b) - bytes(a));
		return {
			head: {
				rows: list.length,
				bytes: sum(list.map(bytes)),
				blocks: sum(list.map(({ blocks }) => blocks.length)),
			},
			columns: {
				stack: ids(list.map(({ stack }) => stack)),
				site: ids(list.map(({ site }) => site)),
				place: list.map(({ site }) => placeOf(site)),
				bytes: doubles(list.map(bytes)),
				blocks: doubles(list.map(({ blocks }) => blocks.length)),
				first_ns: doubles(list.map(({ blocks }) => blocks[0]!.alloc)),
				last_ns: doubles(list.map(({ blocks }) => blocks.at(-1)!.alloc)),
				kind: Uint8Array.from(list.map(({ kind }) => kind)),
				births: doubles(list.flatMap(({ births }) => births)),
				growth: doubles(list.map((row) => (bytes(row) * 1e9) / DURATION)),
				suppressed: [],
			},
		};
	}

	private generations(request: Request): Answer {
		const { from, to } = this.range(request);
		const marks = (request.marks as number[]).filter((ns) => ns > from && ns < to);
		const edges = [from, ...marks, to];
		const live = this.blocks.filter((block) => this.isLive(block, to - 1) && block.alloc >= from);
		const sites = [...new Set(STACKS.map((calls) => responsible(calls, "function") ?? 0))];
		const inside = (site: number | undefined, segment: number) =>
			live.filter(
				({ alloc, stack }) =>
					alloc >= edges[segment]! &&
					alloc < edges[segment + 1]! &&
					(site === undefined || (responsible(STACKS[stack]!, "function") ?? 0) === site),
			);
		const segments = edges.slice(1).map((_, i) => i);
		const bytes = (blocks: Block[]) => sum(blocks.map(({ size }) => size));
		const rows = sites.filter((site) => segments.some((segment) => inside(site, segment).length > 0));
		return {
			head: { rows: rows.length, marks_left_out: 0 },
			columns: {
				segment_from: doubles(edges.slice(0, -1)),
				segment_to: doubles(edges.slice(1)),
				segment_bytes: doubles(segments.map((segment) => bytes(inside(undefined, segment)))),
				segment_blocks: doubles(segments.map((segment) => inside(undefined, segment).length)),
				site: ids(rows),
				line: ids(rows.map(() => 0)),
				place: rows.map(placeOf),
				repeats: Uint8Array.from(
					rows.map((site) =>
						segments.length >= 4 && segments.slice(1, -1).every((i) => inside(site, i).length > 0) ? 1 : 0,
					),
				),
				bytes: doubles(rows.flatMap((site) => segments.map((i) => bytes(inside(site, i))))),
				blocks: doubles(rows.flatMap((site) => segments.map((i) => inside(site, i).length))),
			},
		};
	}

	private allocated(request: Request): Block[] {
		const { from, to } = this.range(request);
		return this.blocks.filter(({ alloc }) => alloc >= from && alloc < to);
	}

	private sizes(request: Request): Answer {
		const blocks = this.allocated(request);
		const exact = new Map<number, number>();
		for (const { size } of blocks) exact.set(size, (exact.get(size) ?? 0) + 1);
		const most = [...exact].sort((a, b) => b[1] - a[1]).slice(0, 20);
		const siteOf = (size: number) => STACKS[blocks.find((block) => block.size === size)!.stack]!.at(-1)!;
		return {
			columns: {
				...buckets(blocks, ({ size }) => size),
				size: doubles(most.map(([size]) => size)),
				size_blocks: doubles(most.map(([, count]) => count)),
				size_call: ids(most.map(([size]) => siteOf(size))),
				size_place: most.map(([size]) => placeOf(siteOf(size))),
			},
		};
	}

	private lifetimes(request: Request): Answer {
		const blocks = this.allocated(request);
		const live = blocks.filter(({ free }) => free < 0);
		return {
			head: { live_blocks: live.length, live_bytes: sum(live.map(({ size }) => size)) },
			columns: buckets(
				blocks.filter(({ free }) => free >= 0),
				({ alloc, free }) => free - alloc,
			),
		};
	}

	private heat(request: Request): Answer {
		const cells = new Map<string, { size: number; life: number; blocks: number; bytes: number }>();
		for (const block of this.allocated(request)) {
			if (block.free < 0) continue;
			const [size, life] = [low(block.size), low(block.free - block.alloc)];
			const cell = cells.get(`${size} ${life}`) ?? { size, life, blocks: 0, bytes: 0 };
			cell.blocks++;
			cell.bytes += block.size;
			cells.set(`${size} ${life}`, cell);
		}
		const list = [...cells.values()];
		return {
			columns: {
				low_size: doubles(list.map(({ size }) => size)),
				low_life: doubles(list.map(({ life }) => life)),
				blocks: doubles(list.map(({ blocks }) => blocks)),
				bytes: doubles(list.map(({ bytes }) => bytes)),
			},
		};
	}

	private threads(request: Request): Answer {
		const blocks = this.allocated(request);
		const of = (thread: number, test: (block: Block) => boolean, value = (_: Block) => 1) =>
			sum(blocks.filter((block) => block.thread === thread && test(block)).map(value));
		const rows = THREADS.map((_, i) => i);
		const pairs = rows
			.flatMap((from) => rows.map((to) => ({ from, to })))
			.map(({ from, to }) => ({
				from,
				to,
				blocks: of(from, ({ freer }) => freer === to),
				bytes: of(
					from,
					({ freer }) => freer === to,
					({ size }) => size,
				),
			}))
			.filter((pair) => pair.blocks > 0);
		const size = ({ size: bytes }: Block) => bytes;
		return {
			columns: {
				id: ids(THREADS.map(({ id }) => id)),
				name: THREADS.map(({ name }) => name),
				alloc_blocks: doubles(rows.map((row) => of(row, () => true))),
				alloc_bytes: doubles(rows.map((row) => of(row, () => true, size))),
				live_bytes: doubles(rows.map((row) => of(row, ({ free }) => free < 0, size))),
				temporary_blocks: doubles(
					rows.map((row) => of(row, ({ alloc, free }) => free >= 0 && free - alloc < 1e5)),
				),
				frees_own: doubles(rows.map((row) => of(row, ({ freer }) => freer === row))),
				frees_other: doubles(rows.map((row) => of(row, ({ freer }) => freer >= 0 && freer !== row))),
				from: ids(pairs.map(({ from }) => from)),
				to: ids(pairs.map(({ to }) => to)),
				freed_blocks: doubles(pairs.map((pair) => pair.blocks)),
				freed_bytes: doubles(pairs.map((pair) => pair.bytes)),
			},
		};
	}

	private page(request: Request): Answer {
		const { from, to } = this.range(request);
		const site = request.site as number | undefined;
		const [least, most] = [
			(request.size_from as number) ?? 0,
			(request.size_to as number) ?? Number.POSITIVE_INFINITY,
		];
		const chain = request.chain as number | undefined;
		const list = this.blocks.filter(
			(block) =>
				(!chain || this.chainOf(block)[0] === this.blocks[chain - 1]) &&
				block.alloc < to &&
				(block.free < 0 || block.free > from) &&
				block.size >= least &&
				block.size <= most &&
				(!site || responsible(STACKS[block.stack]!, "function") === site),
		);
		const keys: Record<string, (block: Block) => number> = {
			size: ({ size }) => size,
			alloc: ({ alloc }) => alloc,
			free: ({ free }) => free,
			lifetime: ({ alloc, free }) => (free < 0 ? DURATION : free - alloc),
			reallocs: (block) => this.chainOf(block).indexOf(block),
		};
		const key = keys[(request.sort as string) ?? "size"]!;
		list.sort((a, b) => (request.ascending ? 1 : -1) * (key(a) - key(b)));
		const offset = (request.offset as number) ?? 0;
		const page = list.slice(offset, offset + ((request.most as number) ?? 100));
		return {
			head: { rows: list.length, bytes: sum(list.map(({ size }) => size)) },
			columns: {
				number: doubles(page.map((block) => this.blocks.indexOf(block) + 1)),
				chain: doubles(page.map((block) => this.blocks.indexOf(this.chainOf(block)[0]!) + 1)),
				alloc_ns: doubles(page.map(({ alloc }) => alloc)),
				free_ns: doubles(page.map(({ free }) => free)),
				size: doubles(page.map(({ size }) => size)),
				lifetime_ns: doubles(page.map(({ alloc, free }) => (free < 0 ? -1 : free - alloc))),
				alloc_thread: ids(page.map(({ thread }) => thread + 1)),
				free_thread: ids(page.map(({ freer }) => freer + 1)),
				stack: ids(page.map(({ stack }) => stack + 1)),
				site: ids(page.map(({ stack }) => responsible(STACKS[stack]!, "function") ?? 0)),
				reallocs: ids(page.map((block) => this.chainOf(block).indexOf(block))),
				place: page.map(({ stack }) => placeOf(responsible(STACKS[stack]!, "function") ?? 0)),
				flags: Uint8Array.from(page.map((block) => this.flagsOf(block))),
			},
		};
	}

	/* Four blocks each of a vector that grows. */
	private chainOf(block: Block): Block[] {
		const grows = (stack: number) => CALLS[STACKS[stack]!.at(-1)! - 1]!.name.includes("realloc");
		if (!grows(block.stack)) return [block];
		const list = this.blocks.filter(({ stack }) => stack === block.stack);
		const first = list.indexOf(block) & ~3;
		return list.slice(first, first + 4);
	}

	private flagsOf(block: Block): number {
		const chain = this.chainOf(block);
		const isShort = block.free >= 0 && block.free - block.alloc < 1e5;
		return (chain[0] === block ? 0 : 1) + (chain.at(-1) === block ? 0 : 2) + (isShort ? 4 : 0);
	}

	private findings(): Answer {
		const site = CALLS.findIndex(({ name }) => name === "Session::create") + 1;
		return {
			head: { unchecked: [{ rule: "never-read", needs: "access data of DHAT" }] },
			columns: {
				rule: ["leak-growing", "churn-loop"],
				title: ["leak that grows", "churn in a loop"],
				severity: ["high", "medium"],
				name: ["Session::create", CALLS[11]!.name],
				sentence: [
					"394.1 KiB in 400 blocks, 1.2% of the peak, grow throughout the run and are never freed",
					"1,200 blocks live for less than 0.1 ms",
				],
				why: ["Memory grows for as long as the program runs.", "The allocator is called for nothing."],
				advice: ["Free the session when its connection closes.", "Reuse one buffer per thread."],
				place: ["session.cpp:15", "logger.cpp:33"],
				show: [`?view=leaks&call=${site}`, "?view=lifetimes"],
				site: ids([site, 12]),
				saving: doubles([403600, 0]),
			},
		};
	}
}

const placeOf = (call: number) => {
	const { file, line } = CALLS[call - 1] ?? { file: "", line: 0 };
	return file ? `${file.slice(file.lastIndexOf("/") + 1)}:${line}` : "";
};

/* The innermost call of the user's code; for leaves, the innermost of all. */
function responsible(calls: number[], by: string): number | undefined {
	const innermost = calls.at(-1);
	return by === "leaf"
		? innermost
		: ([...calls].reverse().find((call) => CALLS[call - 1]!.kind === 0) ?? innermost);
}

const low = (value: number) => (value < 1 ? 0 : 2 ** Math.floor(Math.log2(value)));

function buckets(blocks: Block[], value: (block: Block) => number) {
	const counts = new Map<number, { blocks: number; bytes: number }>();
	for (const block of blocks) {
		const key = low(value(block));
		const bucket = counts.get(key) ?? { blocks: 0, bytes: 0 };
		bucket.blocks++;
		bucket.bytes += block.size;
		counts.set(key, bucket);
	}
	const list = [...counts].sort((a, b) => a[0] - b[0]);
	return {
		low: doubles(list.map(([start]) => start)),
		high: doubles(list.map(([start]) => (start === 0 ? 0 : 2 * start - 1))),
		blocks: doubles(list.map(([, bucket]) => bucket.blocks)),
		bytes: doubles(list.map(([, bucket]) => bucket.bytes)),
	};
}

interface TreeNode {
	call: number;
	depth: number;
	self: number;
	total: number;
	before: number;
	beforeSelf: number;
	leftOut: number;
	leftOutValue: number;
}

interface Sample {
	calls: number[];
	value: number;
	before: number;
}

/* Nodes in preorder; those below the least share are counted in their parent. */
function treeNodes(samples: Sample[], isInverted: boolean, least: number): TreeNode[] {
	const all = sum(samples.map(({ value }) => value));
	const nodes: TreeNode[] = [];
	const add = (call: number, depth: number, part: Sample[]): void => {
		const total = sum(part.map(({ value }) => value));
		const here = part.filter(({ calls }) => calls.length === depth);
		const node: TreeNode = {
			call,
			depth,
			total,
			self: sum(here.map(({ value }) => value)),
			before: sum(part.map(({ before }) => before)),
			beforeSelf: sum(here.map(({ before }) => before)),
			leftOut: 0,
			leftOutValue: 0,
		};
		nodes.push(node);
		const children = new Map<number, Sample[]>();
		for (const sample of part) {
			const next = isInverted ? sample.calls[sample.calls.length - 1 - depth] : sample.calls[depth];
			if (next === undefined || sample.calls.length === depth) continue;
			children.set(next, [...(children.get(next) ?? []), sample]);
		}
		const list = [...children]
			.map(([next, inner]) => ({ next, inner, total: sum(inner.map(({ value }) => value)) }))
			.sort((a, b) => b.total - a.total);
		for (const child of list) {
			if (child.total >= least * all && (child.total > 0 || sum(child.inner.map(({ before }) => before)) > 0))
				add(child.next, depth + 1, child.inner);
			else if (child.total > 0) {
				node.leftOut++;
				node.leftOutValue += child.total;
			}
		}
	};
	add(0, 0, samples);
	return nodes;
}
