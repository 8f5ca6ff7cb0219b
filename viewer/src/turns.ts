/*
 * turns.ts - figures beside a view ask after it.
 *
 * An engine answers one request after another, and a view is what the user waits for.
 */
let answering = 0;
let waiting: (() => void)[] = [];

/* A request of a view. */
export async function askFirst<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
	answering++;
	try {
		return await ask();
	} finally {
		answering--;
		if (answering === 0) {
			for (const goOn of waiting) goOn();
			waiting = [];
		}
	}
}

/* A request of other figures: once no view waits.  A view that changes in the same moment asks before. */
export async function askNext<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
	await Promise.resolve();
	if (answering > 0) await new Promise<void>((resolve) => waiting.push(resolve));
	return ask();
}
