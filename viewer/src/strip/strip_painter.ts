/* strip_painter.ts - draws the timeline: band of live bytes, resident memory, marks, peak and selection. */
import { formatBytes, formatEdge, formatMoment } from "../format.ts";
import type { Palette } from "../palette.ts";
import type { Range } from "../url.ts";
import { byteTicks, timeTicks } from "./ticks.ts";

export interface Curve {
	ns: Float64Array;
	min: Float64Array;
	max: Float64Array;
	end: number; // of the last step; a recording may be shorter than the window
}

export interface StripPicture {
	curve: Curve;
	base: Curve | undefined;
	baseName: string;
	baseFrom: number;
	residentNs: Float64Array;
	residentBytes: Float64Array;
	window: Range;
	selection: Range | undefined;
	exactFrom: number; // of a bounded recording: only sums are known of earlier events
	peak: Peak | undefined;
	marks: { ns: number; name: string }[];
	width: number;
	height: number;
	palette: Palette;
}

type Peak = { ns: number; bytes: number };

/* A text above the curve. */
interface Span {
	x: number;
	end: number;
}

interface Label extends Span {
	text: string;
}

const doOverlap = (a: Span, b: Span): boolean => a.x < b.end + 8 && b.x < a.end + 8;

const AXIS = 16; /* pixels for the times below */
const TOP = 14; /* pixels for flags above */
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export const toPixel = (ns: number, { from, to }: Range, width: number): number =>
	((ns - from) / (to - from)) * width;

export const toTime = (x: number, { from, to }: Range, width: number): number =>
	Math.round(from + (Math.max(0, Math.min(width, x)) / width) * (to - from));

/* Resident memory far above the heap would flatten the curve: it is cut at one and a half times the heap's peak. */
function highestOf({ curve, base, residentBytes }: StripPicture): number {
	let heap = 1;
	let resident = 0;

	for (const value of curve.max) if (value > heap) heap = value;
	for (const value of base?.max ?? []) if (value > heap) heap = value;
	if (residentBytes.length > 1)
		/* one sample is no line */
		for (const value of residentBytes) if (value > resident) resident = value;
	return Math.max(heap, Math.min(resident, 1.5 * heap)) * 1.04;
}

export class StripPainter {
	private highest = 1;

	constructor(private readonly g: CanvasRenderingContext2D) {}

	paint(picture: StripPicture, ratio: number): void {
		const { g } = this;
		const { width, height, palette } = picture;

		this.highest = highestOf(picture);
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = palette.background;
		g.fillRect(0, 0, width, height);
		g.font = FONT;
		this.grid(picture);
		this.band(picture);
		if (picture.base) this.baseLine(picture, picture.base);
		this.resident(picture);
		this.shade(picture);
		this.sums(picture);
		this.labels(picture);
		this.flags(picture);
		this.nameResident(picture);
	}

	private y(bytes: number, { height }: StripPicture): number {
		const room = height - AXIS - TOP;
		return TOP + room - Math.min(1, bytes / this.highest) * room;
	}

	private x(ns: number, picture: StripPicture): number {
		return toPixel(ns, picture.window, picture.width);
	}

	private grid(picture: StripPicture): void {
		const { g } = this;
		g.strokeStyle = picture.palette.line;
		g.lineWidth = 1;
		g.beginPath();
		for (const bytes of byteTicks(this.highest, 3)) {
			const y = Math.round(this.y(bytes, picture)) + 0.5;
			g.moveTo(0, y);
			g.lineTo(picture.width, y);
		}
		g.stroke();
	}

	/* The area below the lowest level of each step, and the band up to its highest. */
	private band(picture: StripPicture): void {
		const { g } = this;
		const { ns, max } = picture.curve;
		const floor = picture.height - AXIS;
		const end = Math.min(picture.width, this.x(picture.curve.end, picture));
		const xAfter = (i: number) => (i + 1 < ns.length ? this.x(ns[i + 1]!, picture) : end);

		const steps = (values: Float64Array) => {
			for (let i = 0; i < ns.length; i++) {
				const y = this.y(values[i]!, picture);
				g.lineTo(this.x(ns[i]!, picture), y);
				g.lineTo(xAfter(i), y);
			}
		};

		g.beginPath();
		g.moveTo(this.x(ns[0] ?? 0, picture), floor);
		steps(max);
		g.lineTo(end, floor);
		g.fillStyle = picture.palette.band;
		g.fill();
		g.beginPath();
		steps(max);
		g.strokeStyle = picture.palette.bandLine;
		g.lineWidth = 1.25;
		g.stroke();
		this.spread(picture, xAfter);
	}

	/* Within a step the level varies from the lowest to the highest value. */
	private spread(picture: StripPicture, xAfter: (i: number) => number): void {
		const { g } = this;
		const { ns, min, max } = picture.curve;

		g.globalAlpha = 0.35;
		g.fillStyle = picture.palette.bandLine;
		for (let i = 0; i < ns.length; i++) {
			const x = this.x(ns[i]!, picture);
			const top = this.y(max[i]!, picture);
			g.fillRect(x, top, xAfter(i) - x, this.y(min[i]!, picture) - top);
		}
		g.globalAlpha = 1;
	}

	private line(points: Iterable<[number, number]>): void {
		const { g } = this;
		let isFirst = true;

		g.beginPath();
		for (const [x, y] of points) {
			if (isFirst) g.moveTo(x, y);
			else g.lineTo(x, y);
			isFirst = false;
		}
		g.stroke();
	}

	/* The base starts where the window does; its name stands above its highest point on screen. */
	private baseLine(picture: StripPicture, base: Curve): void {
		const { g } = this;
		const at = (ns: number) => this.x(picture.window.from + ns - picture.baseFrom, picture);
		const points = Array.from(base.ns, (ns, i): [number, number] => [at(ns), this.y(base.max[i]!, picture)]);
		const last = points.at(-1);

		if (!last) return;
		points.push([at(base.end), last[1]]);
		g.strokeStyle = picture.palette.muted;
		g.lineWidth = 1.5;
		g.setLineDash([2, 3]);
		this.line(points);
		g.setLineDash([]);
		const top = points.reduce((highest, point) => (point[1] < highest[1] ? point : highest), last);
		const room = g.measureText(picture.baseName).width;
		g.textBaseline = "alphabetic";
		this.boxed(
			picture.baseName,
			Math.max(60, Math.min(picture.width - room - 8, top[0] - room / 2)),
			Math.max(24, top[1] - 3),
			picture,
		);
	}

	/* Resident memory is named at its last sample on screen; an arrow says that it is higher than the strip. */
	private nameResident(picture: StripPicture): void {
		const { residentNs, residentBytes, width, palette } = picture;
		let last = residentNs.length - 1;

		while (last >= 0 && this.x(residentNs[last]!, picture) > width) last--;
		if (last < 1 || this.x(residentNs[last]!, picture) < 0) return;
		const bytes = residentBytes[last]!;
		const name = width < 600 ? "resident" : "resident memory";
		const text = `${name} ${formatBytes(bytes)}${bytes > this.highest ? " \u2191" : ""}`;
		const x = this.x(residentNs[last]!, picture) - this.g.measureText(text).width - 6;
		const y = this.y(residentBytes[last]!, picture);
		this.boxed(text, Math.max(66, x), y > TOP + 16 ? y - 5 : y + 14, picture, palette.resident);
	}

	/* A sample is the highest value of the time up to the next one: the last one holds up to the end. */
	private resident(picture: StripPicture): void {
		const { residentNs, residentBytes, palette, curve } = picture;
		const [before = 0, last = 0] = residentNs.subarray(-2);
		const points = Array.from(residentNs, (ns, i): [number, number] => [
			this.x(ns, picture),
			this.y(residentBytes[i]!, picture),
		]);

		if (points.length > 1)
			points.push([this.x(Math.min(curve.end, 2 * last - before), picture), points.at(-1)![1]]);
		this.g.strokeStyle = palette.resident;
		this.g.lineWidth = 1.25;
		this.g.setLineDash([2, 2]);
		this.line(points);
		this.g.setLineDash([]);
	}

	/* Everything outside of the selection becomes pale. */
	private shade(picture: StripPicture): void {
		const { g } = this;
		if (!picture.selection) return;
		const left = this.x(picture.selection.from, picture);
		const right = Math.max(this.x(picture.selection.to, picture), left + 1.5);
		g.globalAlpha = 0.62;
		g.fillStyle = picture.palette.background;
		g.fillRect(0, 0, left, picture.height - AXIS);
		g.fillRect(right, 0, picture.width - right, picture.height - AXIS);
		g.globalAlpha = 1;
		g.fillStyle = picture.palette.select;
		g.fillRect(left, TOP, 1.5, picture.height - AXIS - TOP);
		g.fillRect(right - 1.5, TOP, 1.5, picture.height - AXIS - TOP);
	}

	/* The part without a curve, which is no empty heap. */
	private sums(picture: StripPicture): void {
		const { g } = this;
		const { exactFrom, width, height, palette } = picture;
		const end = Math.min(width, this.x(exactFrom, picture));
		const text = "only sums are kept (--ring)";
		const room = g.measureText(text).width;

		if (end <= 0) return;
		g.globalAlpha = 0.18;
		g.fillStyle = palette.muted;
		g.fillRect(0, TOP, end, height - AXIS - TOP);
		g.globalAlpha = 1;
		if (room + 80 < end)
			this.boxed(text, Math.max(72, (end - room) / 2), TOP + (height - AXIS - TOP) * 0.6, picture);
	}

	private labels(picture: StripPicture): void {
		const { g } = this;
		const { window, width, height, palette } = picture;
		const { step, at } = timeTicks(window.from, window.to, Math.max(2, width / 110));

		g.textBaseline = "alphabetic";
		for (const bytes of byteTicks(this.highest, 3))
			this.boxed(formatEdge(bytes, "bytes"), 4, this.y(bytes, picture) + 12, picture);
		g.fillStyle = palette.muted;
		for (const ns of at) {
			const x = this.x(ns, picture);
			const text = formatMoment(ns, step);
			const room = g.measureText(text).width;
			g.fillText(text, Math.max(2, Math.min(width - room - 2, x - room / 2)), height - 4);
		}
	}

	/* A text that stays readable above the curve. */
	private boxed(text: string, x: number, y: number, { palette }: StripPicture, colour = palette.muted): void {
		const { g } = this;
		g.globalAlpha = 0.8;
		g.fillStyle = palette.background;
		g.fillRect(x - 2, y - 10, g.measureText(text).width + 4, 13);
		g.globalAlpha = 1;
		g.fillStyle = colour;
		g.fillText(text, x, y);
	}

	private flags(picture: StripPicture): void {
		const { palette, peak, marks, width, height } = picture;
		const texts = marks
			.map(({ ns, name }) => ({ x: this.x(ns, picture) + 4, text: name.slice(0, 24) }))
			.filter(({ x }) => x >= 4 && x <= width + 4)
			.map(({ x, text }) => ({ x, text, end: x + this.g.measureText(text).width }));
		const label = peak && this.peakLabel(picture, peak, texts);
		let freeFrom = 0;

		for (const { x, text, end } of texts) {
			this.flag(x - 4, palette.muted, height);
			if (x - 4 < freeFrom || (label && doOverlap(label, { x, end }))) continue;
			this.g.fillText(text, x, 10);
			freeFrom = end + 8;
		}
		if (label) this.peakFlag(picture, peak!, label);
	}

	private flag(x: number, colour: string, height: number): void {
		const { g } = this;
		g.fillStyle = colour;
		g.fillRect(Math.round(x), 2, 1, height - AXIS - 2);
	}

	/* The label stands on the right of the peak; on its left where there is no room, or the name of a mark. */
	private peakLabel(picture: StripPicture, peak: Peak, marks: Span[]): Label | undefined {
		const x = this.x(peak.ns, picture);
		const text = `peak ${formatBytes(peak.bytes)}`;
		const room = this.g.measureText(text).width;
		const right = { text, x: x + 5, end: x + 5 + room };
		const left = { text, x: x - room - 6, end: x - 6 };
		const isFree = (label: Span) => !marks.some((mark) => doOverlap(label, mark));

		if (x < -1 || x > picture.width + 1) return undefined;
		if (right.end + 3 > picture.width) return left;
		return isFree(right) || left.x < 0 || !isFree(left) ? right : left;
	}

	private peakFlag(picture: StripPicture, peak: Peak, { text, x: left, end }: Label): void {
		const { g } = this;
		const x = Math.round(this.x(peak.ns, picture));

		g.fillStyle = picture.palette.peak;
		g.fillRect(Math.min(x, picture.width - 1), 2, 1, this.y(peak.bytes, picture));
		g.fillStyle = picture.palette.background;
		g.fillRect(left - 2, 0, end - left + 4, 13);
		g.fillStyle = picture.palette.peak;
		g.fillText(text, left, 10);
	}
}
