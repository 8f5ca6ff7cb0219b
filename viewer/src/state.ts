/* state.ts - the state that all views share.  It lives in the URL, so Back is undo and every screen is a link. */
import { signal } from "@preact/signals";
import { readState, type State, writeState } from "./url.ts";

export const state = signal<State>(readState(location.hash));

addEventListener("popstate", () => {
	state.value = readState(location.hash);
});

/* A change of one of them shows other rows, or the same in another order. */
const ROWS_DEPEND_ON = new Set<string>([
	"view",
	"file",
	"time",
	"metric",
	"filters",
	"base",
	"call",
	"sort",
	"ascending",
	"suppressed",
	"sizes",
	"chain",
	"kind",
] satisfies (keyof State)[]);

function changed(from: State, change: Partial<State>): State {
	const hasOtherRows = Object.keys(change).some((name) => ROWS_DEPEND_ON.has(name));

	return { ...from, ...(hasOtherRows ? { row: 0 } : {}), ...change };
}

/* Changes the state.  With `replace`, Back does not return to the present one: for typing and dragging. */
export function go(change: Partial<State>, { replace = false } = {}): void {
	const next = changed(state.peek(), change);
	const hash = writeState(next);

	if (hash !== writeState(state.peek())) {
		if (replace) history.replaceState(null, "", hash);
		else history.pushState(null, "", hash);
	}
	state.value = next;
}

/* The URL of a changed state, for links that also open in another tab. */
export const linkTo = (change: Partial<State>): string => writeState(changed(state.value, change));

/* Writes the fragment anew, so that a token in it is no longer visible. */
export function hideToken(): void {
	history.replaceState(null, "", writeState(state.peek()));
}

export function addFilter(filter: string): void {
	const { filters } = state.peek();

	if (!filters.includes(filter)) go({ filters: [...filters, filter], zoom: [] });
}

export function toggleFilter(filter: string): void {
	const { filters } = state.peek();

	if (filters.includes(filter)) go({ filters: filters.filter((each) => each !== filter) });
	else addFilter(filter);
}
