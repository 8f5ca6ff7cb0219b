/* live.ts - follows a recording that grows: asks for news once a second, unless the user froze the page. */
import { signal } from "@preact/signals";
import { ask, openFile, refresh, session } from "./session.ts";
import { go } from "./state.ts";

const INTERVAL = 1000; /* ms */

export const isFrozen = signal(false);

interface LiveHead {
	ns: number;
	is_running: boolean;
	generation?: number;
}

/* Another program runs in the process, or a function got its name late: calls have other numbers. */
async function startOver(): Promise<void> {
	const { engine, file } = session.peek()!;

	go(
		{ call: 0, zoom: [], time: undefined, window: undefined, base: undefined, marks: [] },
		{ replace: true },
	);
	await openFile(engine, file);
}

async function poll(): Promise<void> {
	const current = session.peek();
	if (!current?.open.growing || !current.engine.isServer || isFrozen.peek() || document.hidden) return;
	const { head } = await ask<LiveHead>({ ask: "live", file: current.file });
	if (head.generation !== current.open.generation) await startOver();
	else if (head.ns !== current.open.duration_ns || !head.is_running) await refresh();
}

/* A failed poll is noted by ask(); the next one may find the server again. */
export function followGrowth(): void {
	setTimeout(
		() =>
			poll()
				.catch(() => undefined)
				.finally(followGrowth),
		INTERVAL,
	);
}
