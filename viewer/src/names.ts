/* names.ts - names of calls, asked for by number when a view first shows them. */
import type { Engine } from "./engine.ts";
import { formatCount } from "./format.ts";

export interface CallName {
	name: string;
	full: string;
	file: string;
	line: number;
	module: number;
	kind: number;
}

/* 64 KiB is the limit of a request; a number takes at most 11 bytes. */
const MOST_IDS = 5000;

const UNKNOWN: CallName = { name: "(unknown)", full: "(unknown)", file: "", line: 0, module: 0, kind: 5 };

export class Names {
	private readonly known = new Map<number, CallName>();

	constructor(
		private readonly engine: Engine,
		private readonly file: number,
	) {}

	of(call: number): CallName {
		return this.known.get(call) ?? (call === 0 ? UNKNOWN : { ...UNKNOWN, name: `call ${formatCount(call)}` });
	}

	/* "parser.c:120", or "" if the place is unknown. */
	place(call: number): string {
		const { file, line } = this.of(call);
		const short = file.slice(file.lastIndexOf("/") + 1);
		return short && line > 0 ? `${short}:${line}` : short;
	}

	async load(calls: Iterable<number>): Promise<void> {
		const missing = new Set<number>();

		for (const call of calls) if (call !== 0 && !this.known.has(call)) missing.add(call);
		const ids = [...missing];
		for (let at = 0; at < ids.length; at += MOST_IDS) await this.loadSome(ids.slice(at, at + MOST_IDS));
	}

	private async loadSome(ids: number[]): Promise<void> {
		const reply = await this.engine.ask({ ask: "names", file: this.file, ids });
		const [name, full, file] = [reply.texts("name"), reply.texts("full"), reply.texts("file")];
		const [line, module, kind] = [reply.u32("line"), reply.u32("module"), reply.u8("kind")];

		reply.u32("call").forEach((call, i) => {
			const short = name.at(i);
			this.known.set(call, {
				name: short,
				full: full.at(i) || short,
				file: file.at(i),
				line: line[i] ?? 0,
				module: module[i] ?? 0,
				kind: kind[i] ?? 5,
			});
		});
	}
}
