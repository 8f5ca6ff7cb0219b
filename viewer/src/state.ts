/* state.ts - the state that all views share.  It lives in the URL, so Back is undo and every screen is a link. */
import { signal } from "@preact/signals";
import { readState, type State, writeState } from "./url.ts";

export const state = signal<State>(readState(location.hash));

addEventListener("popstate", () => {
	state.value = readState(location.hash);
});

/* Changes the state.  With `replace`, Back does not return to the present one: for typing and dragging. */
export function go(change: Partial<State>, { replace = false } = {}): void {
	const next = { ...state.peek(), ...change };
	const hash = writeState(next);

	if (hash !== writeState(state.peek())) {
		if (replace) history.replaceState(null, "", hash);
		else history.pushState(null, "", hash);
	}
	state.value = next;
}

/* The URL of a changed state, for links that also open in another tab. */
export const linkTo = (change: Partial<State>): string => writeState({ ...state.value, ...change });

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
