/* strip_painter.ts - draws the timeline: band of live bytes, resident memory, marks, peak and selection. */
import { formatBytes, formatMoment } from "../format.ts";
import type { Palette } from "../palette.ts";
import type { Range } from "../url.ts";
import { byteTicks, timeTicks } from "./ticks.ts";

export interface Curve {
	ns: Float64Array;
	min: Float64Array;
	max: Float64Array;
}

export interface StripPicture {
	curve: Curve;
	base: Curve | undefined;
	residentNs: Float64Array;
	residentBytes: Float64Array;
	window: Range;
	selection: Range | undefined;
	peak: { ns: number; bytes: number } | undefined;
	marks: { ns: number; name: string }[];
	width: number;
	height: number;
	palette: Palette;
}

const AXIS = 16; /* pixels for the times below */
const TOP = 14; /* pixels for flags above */
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export const toPixel = (ns: number, { from, to }: Range, width: number): number =>
	((ns - from) / (to - from)) * width;

export const toTime = (x: number, { from, to }: Range, width: number): number =>
	Math.round(from + (Math.max(0, Math.min(width, x)) / width) * (to - from));

/* Resident memory far above the heap would flatten the curve: it is cut at three times the heap's peak. */
function highestOf({ curve, base, residentBytes }: StripPicture): number {
	let heap = 1;
	let resident = 0;

	for (const value of curve.max) if (value > heap) heap = value;
	for (const value of base?.max ?? []) if (value > heap) heap = value;
	for (const value of residentBytes) if (value > resident) resident = value;
	return Math.max(heap, Math.min(resident, 3 * heap)) * 1.04;
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
		this.labels(picture);
		this.flags(picture);
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
		const xAfter = (i: number) => (i + 1 < ns.length ? this.x(ns[i + 1]!, picture) : picture.width);

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
		g.lineTo(picture.width, floor);
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

	private baseLine(picture: StripPicture, base: Curve): void {
		const start = base.ns[0] ?? 0;
		const points = Array.from(base.ns, (ns, i): [number, number] => [
			this.x(picture.window.from + ns - start, picture),
			this.y(base.max[i]!, picture),
		]);

		this.g.strokeStyle = picture.palette.muted;
		this.g.setLineDash([5, 3]);
		this.line(points);
		this.g.setLineDash([]);
	}

	private resident(picture: StripPicture): void {
		const { residentNs, residentBytes, palette } = picture;
		const points = Array.from(residentNs, (ns, i): [number, number] => [
			this.x(ns, picture),
			this.y(residentBytes[i]!, picture),
		]);

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

	private labels(picture: StripPicture): void {
		const { g } = this;
		const { window, width, height, palette } = picture;
		const { step, at } = timeTicks(window.from, window.to, Math.max(2, width / 110));

		g.textBaseline = "alphabetic";
		for (const bytes of byteTicks(this.highest, 3))
			this.boxed(formatBytes(bytes), 4, this.y(bytes, picture) + 12, picture);
		g.fillStyle = palette.muted;
		for (const ns of at) {
			const x = this.x(ns, picture);
			const text = formatMoment(ns, step);
			const room = g.measureText(text).width;
			g.fillText(text, Math.max(2, Math.min(width - room - 2, x - room / 2)), height - 4);
		}
	}

	/* A text that stays readable above the curve. */
	private boxed(text: string, x: number, y: number, { palette }: StripPicture): void {
		const { g } = this;
		g.globalAlpha = 0.75;
		g.fillStyle = palette.background;
		g.fillRect(x - 2, y - 10, g.measureText(text).width + 4, 13);
		g.globalAlpha = 1;
		g.fillStyle = palette.muted;
		g.fillText(text, x, y);
	}

	private flags(picture: StripPicture): void {
		const { palette, peak, marks, width, height } = picture;
		let freeFrom = 0;

		for (const { ns, name } of marks) {
			const x = this.x(ns, picture);
			if (x < 0 || x > width) continue;
			this.flag(x, palette.muted, height);
			const text = name.slice(0, 24);
			if (x < freeFrom) continue;
			this.g.fillText(text, x + 4, 10);
			freeFrom = x + this.g.measureText(text).width + 12;
		}
		if (peak) this.peakFlag(picture, peak);
	}

	private flag(x: number, colour: string, height: number): void {
		const { g } = this;
		g.fillStyle = colour;
		g.fillRect(Math.round(x), 2, 1, height - AXIS - 2);
	}

	private peakFlag(picture: StripPicture, peak: { ns: number; bytes: number }): void {
		const { g } = this;
		const x = this.x(peak.ns, picture);
		if (x < -1 || x > picture.width + 1) return;
		const text = `peak ${formatBytes(peak.bytes)}`;
		const room = g.measureText(text).width;
		g.fillStyle = picture.palette.peak;
		g.fillRect(Math.min(Math.round(x), picture.width - 1), 2, 1, this.y(peak.bytes, picture));
		const left = x + room + 8 > picture.width ? x - room - 6 : x + 5;
		this.g.fillStyle = picture.palette.background;
		this.g.fillRect(left - 2, 0, room + 4, 13);
		g.fillStyle = picture.palette.peak;
		g.fillText(text, left, 10);
	}
}
