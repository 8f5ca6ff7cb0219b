/*
 * engine_stored.ts - answers from replies that were made when the report was written: the series form, without recording.
 *
 * The part "allo-replies" holds requests and replies, each behind its length (src/page/report_series.h).
 */
import type { Engine, Request } from "./engine.ts";
import { AskError, Reply } from "./reply.ts";
import type { Range } from "./url.ts";

const WITH_METRIC = new Set(["tree", "table"]);

/* Members that select a part which no stored reply is about. */
const isPart = ({ filters, base, pivot, search, ascending, offset, kinds }: Request): boolean =>
	(filters?.length ?? 0) > 0 || [base, pivot, search, ascending, offset, kinds].some(Boolean);

/* Requests with equal keys have the same stored reply. */
function keyOf(request: Request): string {
	const { ask, file = 0, from, to, metric, by, sort, invert, steps } = request;
	const isCurve = ask === "timeline" && steps !== 1;

	return JSON.stringify([
		ask,
		file,
		isCurve || ask === "names" ? [] : [from, to],
		WITH_METRIC.has(ask) ? metric : "",
		ask === "table" ? [by ?? "function", sort ?? "self"] : "",
		ask === "tree" && invert === true,
		isCurve,
	]);
}

interface Rows {
	rows?: number;
}

const MOST_ROWS = 200;

/* Tables end with their stored rows. */
function limitRows<Head>(request: Request, reply: Reply<Head>): Reply<Head> {
	const head = reply.head as Rows;

	if (request.ask === "table" && (head.rows ?? 0) > MOST_ROWS) head.rows = MOST_ROWS;
	return reply;
}

export interface StoredEngine extends Engine {
	/* The stored window that is nearest to a range. */
	nearest(file: number, range: Range): Range;
}

export function storedEngine(bytes: Uint8Array<ArrayBuffer>): StoredEngine {
	const replies = new Map<string, Uint8Array<ArrayBuffer>>();
	const windows: (Range & { file: number })[] = [];
	const view = new DataView(bytes.buffer);
	let at = 0;
	const take = () => {
		const begin = at + 4;
		at = begin + view.getUint32(at, true);
		return bytes.subarray(begin, at);
	};

	while (at < bytes.length) {
		const request = JSON.parse(new TextDecoder().decode(take())) as Request;
		const { ask, file = 0, from, to } = request;
		replies.set(keyOf(request), take());
		if (ask === "timeline" && from !== undefined && to !== undefined) windows.push({ file, from, to });
	}
	const distance = (a: Range, b: Range) => Math.abs(a.from - b.from) + Math.abs(a.to - b.to);

	return {
		isServer: false,
		async ask<Head>(request: Request): Promise<Reply<Head>> {
			const found = isPart(request) ? undefined : replies.get(keyOf(request));
			if (found) return limitRows(request, Reply.decode<Head>(found.slice().buffer));
			throw new AskError(
				"series",
				"This report does not have these numbers: it was written without the recording.",
				"Open the recording with 'allo view FILE', or write the report with --max-size 0.",
			);
		},
		nearest(file, range) {
			const own = windows.filter((window) => window.file === file);
			const [first = { ...range, file }] = own;
			const { from, to } = own.reduce((a, b) => (distance(b, range) < distance(a, range) ? b : a), first);
			return { from, to };
		},
	};
}
