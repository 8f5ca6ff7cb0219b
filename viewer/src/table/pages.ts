/* pages.ts - long tables by pages: the rows on screen are asked for, and no others. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../engine.ts";
import type { AskError, Reply } from "../reply.ts";
import { asError, epoch } from "../session.ts";
import { type Asked, askNamed } from "../use_ask.ts";

export const PAGE = 200;

const MOST_PAGES = 32; /* kept, of a table of any length */

export interface Pages<Head> extends Asked<Head> {
	/* The page with a row and the row's index in it; undefined while it is on its way. */
	find(row: number): { reply: Reply<Head>; at: number } | undefined;
	need(first: number, last: number): void;
}

interface Kept<Head> {
	key: string;
	asked: Set<number>;
	replies: Map<number, Reply<Head>>;
}

/* Makes room for a page: the one that is farthest from it is loaded again when it is needed. */
function dropFarthest<Head>({ asked, replies }: Kept<Head>, page: number): void {
	if (replies.size <= MOST_PAGES) return;
	const farthest = [...replies.keys()].reduce((a, b) => (Math.abs(b - page) > Math.abs(a - page) ? b : a));
	replies.delete(farthest);
	asked.delete(farthest);
}

/* All pages of a request that is the same but for `offset`. */
export function usePages<Head>(request: Request, callColumns: string[]): Pages<Head> {
	const key = `${epoch.value} ${JSON.stringify(request)}`;
	const pages = useRef<Kept<Head>>({ key: "", asked: new Set(), replies: new Map() });
	const shown = useRef<Map<number, Reply<Head>>>(new Map());
	const [, update] = useState(0);
	const [error, setError] = useState<AskError | undefined>(undefined);

	if (pages.current.key !== key) pages.current = { key, asked: new Set(), replies: new Map() };
	const load = async (page: number) => {
		const target = pages.current;
		if (target.asked.has(page)) return;
		target.asked.add(page);
		try {
			const reply = await askNamed<Head>({ ...request, offset: page * PAGE, most: PAGE }, callColumns);
			if (pages.current !== target) return;
			target.replies.set(page, reply);
			dropFarthest(target, page);
			shown.current = target.replies;
			setError(undefined);
		} catch (failure) {
			/* It stays asked for: the next rendering would ask again at once, and fail again. */
			if (pages.current === target) setError(asError(failure));
		}
		update((n) => n + 1);
	};
	useEffect(() => void load(0), [key]);

	return {
		reply: shown.current.get(0) ?? [...shown.current.values()][0],
		request,
		error,
		isBusy: shown.current !== pages.current.replies,
		find(row) {
			const reply = shown.current.get(Math.floor(row / PAGE));
			return reply && { reply, at: row % PAGE };
		},
		need(first, last) {
			for (let page = Math.floor(first / PAGE); page * PAGE < last; page++) void load(page);
		},
	};
}
