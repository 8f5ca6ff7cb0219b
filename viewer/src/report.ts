/* report.ts - the parts of a report beside its files: what it contains, and source lines. */
import { signal } from "@preact/signals";
import { takeJson } from "./embedded.ts";

export interface Contents {
	events: boolean; // a recording; otherwise a profile
	series?: "size" | "engine"; // without recording and engine: the reason
	source_files?: number; // missing: no source text
	redacted: string[];
}

/* Missing on pages that are no report. */
export const contents = signal<Contents | undefined>(undefined);

/* Pieces of source files: the number of the first line, then the lines. */
type Piece = [number, ...string[]];

const sources = signal(new Map<string, Piece[]>());

export const hasSource = (): boolean => sources.value.size > 0;

export async function takeReport(): Promise<void> {
	contents.value = await takeJson<Contents>("allo-contents");
	sources.value = new Map(Object.entries((await takeJson<Record<string, Piece[]>>("allo-source")) ?? {}));
}

/* Another file has taken the place of the report's. */
export function forgetReport(): void {
	contents.value = undefined;
	sources.value = new Map();
}

export interface SourceLine {
	line: number;
	text: string;
}

/* A comparison names files without folders. */
function piecesOf(path: string): Piece[] {
	const isMeant = (name: string) => name.slice(name.lastIndexOf("/") + 1) === path;
	const all = [...sources.value];

	return sources.value.get(path) ?? all.find(([name]) => isMeant(name))?.[1] ?? [];
}

/* The lines of a file that the report has. */
export function sourceLines(path: string): SourceLine[] {
	return piecesOf(path).flatMap(([first, ...texts]) => texts.map((text, i) => ({ line: first + i, text })));
}
