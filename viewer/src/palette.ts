/*
 * palette.ts - colours of canvas views, by theme.  Safe for colour-blind eyes: hues of Okabe and Ito, made pale for dark
 * text and deep for light text.  A unit test computes the contrast of every pair.
 */
export interface Palette {
	text: string;
	background: string;
	muted: string;
	line: string;
	outline: string; // of the box under the pointer
	modules: readonly string[]; // by rank of cost; the last is for all others
	kinds: readonly string[]; // by kind of call (CALL_KINDS)
	ages: readonly string[]; // from young to old
	changes: readonly string[]; // from shrank most to grew most
	heat: readonly string[]; // from few to many
	band: string;
	bandLine: string;
	resident: string;
	peak: string;
	select: string;
}

const light: Palette = {
	text: "#14181d",
	background: "#ffffff",
	muted: "#59636e",
	line: "#d8dde3",
	outline: "#14181d",
	modules: [
		"#aecbf0",
		"#f6cb94",
		"#a8dcc2",
		"#eabbd5",
		"#efe49d",
		"#b3e2ef",
		"#f2b8a0",
		"#cdc0ef",
		"#d2da9e",
		"#d9dde2",
	],
	ages: ["#e9edf2", "#dcebe4", "#cfe8c4", "#ece39b", "#f6cd85", "#f2ae78", "#e79273"],
	kinds: ["#f6c07c", "#b9cfe8", "#d3dae2", "#d9d3e6", "#e2e5e9", "#d9dde2"],
	changes: ["#6ba3e0", "#a3c6ee", "#d3e4f7", "#e4e7eb", "#fbe2c2", "#f5c283", "#ea9a3a"],
	heat: ["#e4eef9", "#c2dcf3", "#92c3e9", "#5fa5d9", "#2a76b3", "#1c5f9b", "#124a80"],
	band: "#bcd4f3",
	bandLine: "#2f6fc1",
	resident: "#9a6700",
	peak: "#b3410e",
	select: "#2f6fc1",
};

const dark: Palette = {
	text: "#f3f5f8",
	background: "#14171c",
	muted: "#9da8b5",
	line: "#323943",
	outline: "#ffffff",
	modules: [
		"#2f5f9e",
		"#86560f",
		"#1c6a4d",
		"#863f69",
		"#675c10",
		"#1f667d",
		"#8f4128",
		"#5c4a98",
		"#53601f",
		"#474e58",
	],
	ages: ["#39404a", "#36494a", "#37512f", "#5e5518", "#76510f", "#82421a", "#8c352c"],
	kinds: ["#8a560c", "#36557a", "#454d58", "#544a66", "#3c424b", "#474e58"],
	changes: ["#2163b5", "#2a5590", "#2c435f", "#434a54", "#5c4930", "#7f5519", "#985605"],
	heat: ["#1d2a3a", "#1f3d5c", "#24547f", "#2d6da3", "#4089c4", "#6cabdd", "#a9d3f2"],
	band: "#254a78",
	bandLine: "#6ea8ff",
	resident: "#e0b252",
	peak: "#ff9a5c",
	select: "#6ea8ff",
};

const contrast: Palette = {
	...light,
	text: "#000000",
	muted: "#333333",
	line: "#666666",
	outline: "#000000",
	modules: light.modules,
	bandLine: "#003c9e",
	resident: "#6b4500",
	peak: "#9c2a00",
	select: "#003c9e",
};

/* Three shades of a colour, so that neighbours of one module can be told apart. */
export function shadesOf(colour: string): string[] {
	const mix = (target: number, share: number) =>
		`#${[1, 3, 5]
			.map((at) => {
				const value = Number.parseInt(colour.slice(at, at + 2), 16);
				return Math.round(value + (target - value) * share)
					.toString(16)
					.padStart(2, "0");
			})
			.join("")}`;
	const isPale = Number.parseInt(colour.slice(3, 5), 16) > 127;

	return isPale ? [colour, mix(255, 0.28), mix(255, 0.5)] : [colour, mix(0, 0.16), mix(0, 0.3)];
}

export const PALETTES = { light, dark, contrast } as const;

export type ThemeName = keyof typeof PALETTES;
