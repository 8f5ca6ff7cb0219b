/* ticks.ts - round positions on axes: 1, 2, 5 for time; powers of two for bytes. */

/* At most `most` positions in [from, to], and their distance. */
export function timeTicks(from: number, to: number, most: number): { step: number; at: number[] } {
	const rough = (to - from) / Math.max(1, most);
	const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
	const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
	const at: number[] = [];

	for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) at.push(tick);
	return { step, at };
}

export function byteTicks(highest: number, most: number): number[] {
	const step = 2 ** Math.ceil(Math.log2(Math.max(1, highest / Math.max(1, most))));
	const at: number[] = [];

	for (let tick = step; tick <= highest; tick += step) at.push(tick);
	return at;
}
