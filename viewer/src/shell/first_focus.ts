/* first_focus.ts - a view that was opened by key gives the focus to its first table or graph. */
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

let isKeyboard = false;

addEventListener("keydown", () => (isKeyboard = true), true);
addEventListener("pointerdown", () => (isKeyboard = false), true);

/* Gives the focus to an element when it appears, if a key was used last and nothing else has the focus. */
export function useFirstFocus(element: RefObject<HTMLElement | null>): void {
	useEffect(() => {
		if (isKeyboard && document.activeElement === document.body)
			element.current?.focus({ preventScroll: true });
	}, []);
}
