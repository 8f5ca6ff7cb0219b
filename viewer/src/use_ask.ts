/* use_ask.ts - a view's request: the reply stays on screen until the next one is there. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "./engine.ts";
import { Lane } from "./lane.ts";
import type { AskError, Reply } from "./reply.ts";
import { asError, ask, cached, epoch, session } from "./session.ts";
import { state } from "./state.ts";
import { askFirst, askNext } from "./turns.ts";

export interface Asked<Head> {
	reply: Reply<Head> | undefined;
	request: Request | undefined; // that the reply answers
	error: AskError | undefined;
	isBusy: boolean;
}

/* Asks, and loads the names of all calls in these columns and of the selected function. */
export async function askNamed<Head>(request: Request, callColumns: string[]): Promise<Reply<Head>> {
	const reply = await ask<Head>(request);
	const names = session.peek()?.names;

	if (callColumns.length > 0) await names?.load([state.peek().call]);
	for (const column of callColumns) await names?.load(reply.u32(column));
	return reply;
}

const EMPTY = { reply: undefined, request: undefined, error: undefined, isBusy: false };

interface AskOptions {
	isAside?: boolean; // figures beside a view, which asks first
}

export function useAsk<Head>(
	request: Request | undefined,
	callColumns: string[] = [],
	{ isAside = false }: AskOptions = {},
): Asked<Head> {
	const [asked, setAsked] = useState<Asked<Head>>({ ...EMPTY, isBusy: true });
	const lane = useRef<Lane<Request, Reply<Head>> | undefined>(undefined);
	const newest = useRef("");
	const key = request ? JSON.stringify(request) : "";

	lane.current ??= new Lane((question) =>
		(isAside ? askNext : askFirst)(() => askNamed<Head>(question, callColumns)),
	);
	/* At once: other effects wait for the next frame. */
	useLayoutEffect(() => {
		newest.current = key;
		if (!request || !lane.current) {
			setAsked(EMPTY);
			return;
		}
		if (!cached(request)) setAsked((before) => ({ ...before, isBusy: true }));
		lane.current
			.ask(request)
			.then((reply) => {
				if (reply && newest.current === key) setAsked({ reply, request, error: undefined, isBusy: false });
			})
			.catch((error) => {
				if (newest.current === key)
					setAsked((before) => ({ ...before, error: asError(error), isBusy: false }));
			});
	}, [key, epoch.value, session.value?.file]);
	return asked;
}
