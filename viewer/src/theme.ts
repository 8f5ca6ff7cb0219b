/* theme.ts - light, dark and high contrast; follows the system until the user chooses. */
import { computed, effect, signal } from "@preact/signals";
import { PALETTES, type ThemeName } from "./palette.ts";

const CHOICES = ["auto", "light", "dark", "contrast"] as const;
export type ThemeChoice = (typeof CHOICES)[number];

const KEY = "allo-theme";

/* Storage fails in private windows and some file: pages; the theme is then forgotten. */
function stored(): ThemeChoice {
	try {
		const word = localStorage.getItem(KEY) as ThemeChoice;
		return CHOICES.includes(word) ? word : "auto";
	} catch {
		return "auto";
	}
}

function follow(query: string) {
	const list = matchMedia(query);
	const matches = signal(list.matches);
	list.addEventListener("change", () => {
		matches.value = list.matches;
	});
	return matches;
}

const prefersDark = follow("(prefers-color-scheme: dark)");
const prefersContrast = follow("(prefers-contrast: more)");
export const isNarrow = follow("(max-width: 700px)");

export const themeChoice = signal<ThemeChoice>(stored());

export const theme = computed<ThemeName>(() => {
	if (themeChoice.value !== "auto") return themeChoice.value;
	if (prefersContrast.value) return "contrast";
	return prefersDark.value ? "dark" : "light";
});

export const palette = computed(() => PALETTES[theme.value]);

effect(() => {
	document.documentElement.dataset.theme = theme.value;
});

export function nextTheme(): void {
	const at = CHOICES.indexOf(themeChoice.value);
	const next = CHOICES[(at + 1) % CHOICES.length]!;

	themeChoice.value = next;
	try {
		localStorage.setItem(KEY, next);
	} catch {
		/* See stored(). */
	}
}
