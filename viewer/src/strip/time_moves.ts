/* time_moves.ts - selections and windows of the timeline, moved by keys and buttons. */
import { ask, session } from "../session.ts";
import { go, state } from "../state.ts";
import type { Range } from "../url.ts";

/* Two recordings begin together; the longer one counts. */
export const wholeRange = (): Range => {
	const open = session.value?.open;
	return { from: 0, to: Math.max(1, open?.duration_ns ?? 1, open?.before?.duration_ns ?? 1) };
};

/* Earlier events of a bounded recording are known as sums only, which have no times. */
export const exactFrom = (): number => session.value?.open.exact_ns ?? 0;

const isPair = (): boolean => session.peek()?.open.has.comparison === true;

export const windowRange = (): Range => state.value.window ?? wholeRange();

export const hasTime = (): boolean => session.value?.open.has.time === true;

const instant = (ns: number): Range => ({ from: ns, to: ns + 1 });

/* Selects the highest moment of the selection, to the nanosecond. */
export async function goToPeak(range: Range | undefined = state.peek().time): Promise<void> {
	if (!hasTime()) return;
	const { from, to } = range ?? wholeRange();
	const { head } = await ask<{ peak: { ns: number } }>({
		ask: "timeline",
		file: state.peek().file,
		from,
		to,
		steps: 1,
	});
	go({ time: instant(head.peak.ns) });
}

export function goToEnd(): void {
	if (hasTime()) go({ time: instant(Math.max(0, wholeRange().to - 1)) });
}

/* Zooms the strip around a moment; a factor above 1 shows more. */
export function zoomWindow(factor: number, around?: number): void {
	const whole = wholeRange();
	const { from, to } = windowRange();
	const centre =
		around ?? (state.peek().time ? (state.peek().time!.from + state.peek().time!.to) / 2 : (from + to) / 2);
	const length = Math.max(16, Math.min(whole.to, (to - from) * factor));
	const start = centre - ((centre - from) / (to - from)) * length;

	setWindow(start, length);
}

export function panWindow(share: number): void {
	const { from, to } = windowRange();

	setWindow(from + share * (to - from), to - from);
}

function setWindow(start: number, length: number): void {
	const whole = wholeRange();
	const from = Math.round(Math.max(0, Math.min(whole.to - length, start)));
	const to = Math.round(from + length);

	go({ window: from <= 0 && to >= whole.to ? undefined : { from, to } }, { replace: true });
}

/* The marks of the file and of the user, in order of time. */
export function allMarks(): { ns: number; name: string }[] {
	const own = state.value.marks.map((ns, i) => ({ ns, name: `mark ${i + 1}` }));

	return [...(session.value?.open.marks ?? []), ...own].sort((a, b) => a.ns - b.ns);
}

/* The segment between the marks around a moment. */
export function segmentAt(ns: number): Range | undefined {
	const whole = wholeRange();
	const first = exactFrom();
	const edges = [first, ...allMarks().map((mark) => mark.ns), whole.to].filter((edge) => edge >= first);
	const from = Math.max(first, ...edges.filter((edge) => edge <= ns));
	const to = Math.min(...edges.filter((edge) => edge > from), whole.to);

	return from <= first && to >= whole.to ? undefined : { from, to };
}

/* The selection, or everything, as the base of a comparison.  Of two recordings, it becomes the range of the old one, and
 * the selection then moves that of the new one. */
export function setBase(): void {
	const { time, file } = state.peek();
	go({ base: { file, ...(time ?? wholeRange()) }, ...(isPair() ? {} : { time: undefined }) });
}

/* Growth since the last mark: what each function holds now, against then.  It continues to grow. */
export function sinceMark(): void {
	const last = allMarks().at(-1);
	if (!last) return;
	/* Marks of a comparison are those of its first file. */
	const file = isPair() ? 0 : state.peek().file;
	go({
		file,
		base: { file, from: 0, to: Math.max(1, exactFrom(), last.ns) },
		time: undefined,
		metric: "end_bytes",
		view: "table",
		sort: "change",
	});
}
