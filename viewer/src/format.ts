/* format.ts - numbers as the terminal prints them: IEC units, three digits, groups of thousands. */

const BYTE_UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;
const TIME_UNITS = ["us", "ms", "s"] as const;

/* `value` in the largest unit that it reaches; 1023.96 would print as 1024.0, so it moves to the next. */
function scaled(value: number, units: readonly string[], step: number): string {
	let unit = 0;
	let rest = value;

	while (unit + 1 < units.length && rest >= step - 0.05) {
		rest /= step;
		unit++;
	}
	return `${rest.toFixed(rest < 9.995 ? 2 : 1)} ${units[unit]}`;
}

export function formatBytes(bytes: number): string {
	return bytes < 1024 ? `${formatCount(bytes)} B` : scaled(bytes / 1024, BYTE_UNITS, 1024);
}

export function formatCount(count: number): string {
	return Math.round(count)
		.toString()
		.replace(/\B(?=(\d{3})+$)/g, ",");
}

export function formatNs(ns: number): string {
	return ns < 1000 ? `${Math.round(ns)} ns` : scaled(ns / 1000, TIME_UNITS, 1000);
}

/* A sum of times.  Moments keep their seconds, since several may be in one minute. */
function formatLong(ns: number): string {
	const minutes = Math.floor(ns / 60e9);

	return minutes < 60 ? formatNs(ns) : `${formatCount(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

const formatters: Record<string, (value: number) => string> = {
	bytes: formatBytes,
	count: formatCount,
	ns: formatLong,
	nanoseconds: formatLong,
};

/* A value of a metric's unit.  Negative values get a real minus sign, which is as wide as a plus. */
export function formatValue(value: number, unit: string): string {
	const format = formatters[unit];
	const text = format ? format(Math.abs(value)) : `${formatCount(Math.abs(value))} ${unit}`;

	return value < 0 ? `\u2212${text}` : text;
}

/* The edge of a range or an axis: no zeros after the point, so "64 KiB". */
export const formatEdge = (value: number, unit: string): string =>
	formatValue(value, unit)
		.replace(/(\.\d*?)0+(?= )/, "$1")
		.replace(/\.(?= )/, "");

/* A change: always with a sign, and an arrow so that colour is never alone. */
export function formatChange(change: number, unit: string): string {
	if (change === 0) return formatValue(0, unit);
	return change > 0 ? `\u25b2 +${formatValue(change, unit)}` : `\u25bc ${formatValue(change, unit)}`;
}

export function formatShare(part: number, whole: number): string {
	return whole === 0 ? "-" : `${((100 * part) / whole).toFixed(1)}%`;
}

export function formatFactor(after: number, before: number): string {
	if (before === 0) return after === 0 ? "-" : "new";
	if (after === 0) return "gone";
	const change = (100 * (after - before)) / before;
	return `${change < 0 ? "\u2212" : "+"}${Math.abs(change).toFixed(1)}%`;
}

/* "3 blocks", "1 block". */
export function plural(count: number, word: string): string {
	return `${formatCount(count)} ${word}${Math.round(count) === 1 ? "" : "s"}`;
}

/* A moment, exact to the nanosecond where needed: "2.1s" in URLs. */
export function writeTime(ns: number): string {
	const whole = Math.floor(ns / 1e9);
	const rest = Math.round(ns - whole * 1e9);

	return rest === 0 ? `${whole}s` : `${whole}.${String(rest).padStart(9, "0").replace(/0+$/, "")}s`;
}

/* Reads "2.1s" or plain nanoseconds; undefined if it is neither. */
export function readTime(text: string): number | undefined {
	const match = /^(\d{1,9})(?:\.(\d{1,9}))?s$/.exec(text);

	if (match) return Number(match[1]) * 1e9 + Number((match[2] ?? "").padEnd(9, "0"));
	return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

/* A moment on an axis whose neighbouring ticks are `step` ns apart: "1.25 s". */
export function formatMoment(ns: number, step: number): string {
	const [size, unit] = step >= 1e7 || ns >= 1e9 ? [1e9, "s"] : step >= 1e4 ? [1e6, "ms"] : [1e3, "us"];
	const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));

	return `${(ns / size).toFixed(Math.min(digits, 9))} ${unit}`;
}
