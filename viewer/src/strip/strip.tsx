/* strip.tsx - the timeline above all views: drag to select, click for a moment, wheel to zoom. */
import { useEffect, useRef } from "preact/hooks";
import type { Base, Moment } from "../engine.ts";
import { formatBytes, formatMoment, formatNs, plural } from "../format.ts";
import { metricTitle } from "../metric_title.ts";
import type { Reply } from "../reply.ts";
import { metric, session } from "../session.ts";
import { type Details, hoverDetails } from "../shell/details.tsx";
import { go, state } from "../state.ts";
import { palette } from "../theme.ts";
import type { Range } from "../url.ts";
import { useAsk } from "../use_ask.ts";
import { fitCanvas, useSize } from "../use_size.ts";
import { type Curve, StripPainter, type StripPicture, toPixel, toTime } from "./strip_painter.ts";
import {
	allMarks,
	exactFrom,
	hasTime,
	segmentAt,
	wholeRange,
	windowRange,
	zoomWindow,
} from "./time_moves.ts";

const NEAR = 7; /* pixels around a handle */

interface TimelineHead {
	to: number;
	peak: Moment;
	before?: { to: number; peak: Moment }; // of two recordings, the old one
}

function useCurve(range: Range | undefined, file: number, steps: number, base?: Base) {
	const request =
		range && steps > 0 ? { ask: "timeline", file, ...range, ...(base ? { base } : {}), steps } : undefined;

	return useAsk<TimelineHead>(request).reply;
}

export function Strip() {
	return hasTime() ? <TimeStrip /> : <Instants />;
}

function TimeStrip() {
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const cursor = useRef<HTMLDivElement>(null);
	const painter = useRef<StripPainter | undefined>(undefined);
	const size = useSize(box);
	const { time, file, base } = state.value;
	const window = windowRange();
	const steps = Math.min(2000, Math.max(50, size.width));
	const isPair = session.value?.open.has.comparison === true;
	const reply = useCurve(size.width > 0 ? window : undefined, file, steps, isPair ? base : undefined);
	const baseRange = base && base.from !== undefined ? { from: base.from, to: base.to! } : undefined;
	const ownBase = isPair ? undefined : base;
	const baseReply = useCurve(ownBase && (baseRange ?? wholeRange()), ownBase?.file ?? 0, steps);
	const drag = useDrag(size.width);
	const colours = palette.value; /* read here, so that another theme draws the strip anew */

	useEffect(() => {
		const g = canvas.current?.getContext("2d", { alpha: false });
		if (!g || !canvas.current || !reply || size.width === 0) return;
		painter.current ??= new StripPainter(g);
		const picture: StripPicture = {
			curve: curveOf(reply),
			base: isPair ? curveOf(reply, "before_") : baseReply && curveOf(baseReply),
			baseName: isPair ? baseNameOf() : "base",
			residentNs: reply.f64("rss_ns"),
			residentBytes: reply.f64("rss_bytes"),
			baseFrom: isPair ? (base?.from ?? 0) : (baseRange?.from ?? 0),
			window,
			selection: time,
			exactFrom: exactFrom(),
			peak: reply.head.peak,
			marks: allMarks(),
			width: size.width,
			height: size.height,
			palette: colours,
		};
		painter.current.paint(picture, fitCanvas(canvas.current, size));
	});

	return (
		<section class="strip" ref={box} aria-label="Timeline" data-testid="strip">
			<canvas
				ref={canvas}
				class="strip-canvas"
				aria-hidden="true"
				onPointerDown={drag.start}
				onPointerMove={(event) => {
					drag.move(event);
					cursor.current!.style.left = `${event.offsetX}px`;
					cursor.current!.hidden = false;
					hoverDetails.value = reply && momentDetails(reply, toTime(event.offsetX, window, size.width));
				}}
				onPointerLeave={() => {
					cursor.current!.hidden = true;
					hoverDetails.value = undefined;
				}}
				onPointerUp={drag.end}
				onDblClick={(event) => go({ time: segmentAt(toTime(event.offsetX, window, size.width)) })}
				onWheel={(event) => {
					event.preventDefault();
					zoomWindow(event.deltaY > 0 ? 1.25 : 0.8, toTime(event.offsetX, window, size.width));
				}}
			/>
			<div class="strip-cursor" ref={cursor} hidden />
			<Handle edge="from" width={size.width} />
			<Handle edge="to" width={size.width} />
		</section>
	);
}

/* The last index whose time is not after `ns`; -1 if there is none. */
function indexAt(times: Float64Array, ns: number): number {
	let [low, high] = [0, times.length];

	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle]! <= ns) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}

/* What the timeline shows below the pointer. */
function momentDetails(reply: Reply<TimelineHead>, ns: number): Details | undefined {
	const at = indexAt(reply.f64("ns"), ns);
	const resident = indexAt(reply.f64("rss_ns"), ns);
	const step = (reply.f64("ns")[1] ?? 0) - (reply.f64("ns")[0] ?? 0);

	if (at < 0) return undefined;
	const value = (column: string) => reply.f64(column)[at] ?? 0;
	const parts = [
		`${formatBytes(value("max"))} live`,
		plural(value("blocks"), "block"),
		`${plural(value("allocs"), "allocation")} and ${plural(value("frees"), "free")} in ${formatNs(step)}`,
	];
	if (resident >= 0) parts.splice(2, 0, `${formatBytes(reply.f64("rss_bytes")[resident]!)} resident`);
	return { title: `at ${formatMoment(ns, Math.max(1, step))}`, parts };
}

const curveOf = (reply: Reply<TimelineHead>, prefix = ""): Curve => ({
	ns: reply.f64(`${prefix}ns`),
	min: reply.f64(`${prefix}min`),
	max: reply.f64(`${prefix}max`),
	end: prefix ? reply.head.before!.to : reply.head.to,
});

/* The old one of two recordings. */
function baseNameOf(): string {
	const name = session.value?.open.before?.name ?? "before";
	return name.slice(name.lastIndexOf("/") + 1);
}

/* Dragging makes or changes the selection.  The first movement is a step of history; the others replace it. */
function useDrag(width: number) {
	const drag = useRef<{ anchor: number; x: number; hasMoved: boolean } | undefined>(undefined);
	const window = windowRange();
	const at = (event: PointerEvent) => Math.max(exactFrom(), toTime(event.offsetX, window, width));

	return {
		start(event: PointerEvent) {
			if (event.button !== 0) return;
			(event.currentTarget as Element).setPointerCapture(event.pointerId);
			drag.current = {
				anchor: anchorOf(event.offsetX, window, width) ?? at(event),
				x: event.offsetX,
				hasMoved: false,
			};
		},
		move(event: PointerEvent) {
			const current = drag.current;
			if (!current || (!current.hasMoved && Math.abs(event.offsetX - current.x) < 3)) return;
			const [a, b] = [current.anchor, at(event)];
			go({ time: { from: Math.min(a, b), to: Math.max(a, b) + 1 } }, { replace: current.hasMoved });
			current.hasMoved = true;
		},
		end(event: PointerEvent) {
			const current = drag.current;
			drag.current = undefined;
			if (current && !current.hasMoved) go({ time: { from: at(event), to: at(event) + 1 } });
		},
	};
}

/* The edge that stays when the other one is dragged; undefined away from both. */
function anchorOf(x: number, window: Range, width: number): number | undefined {
	const { time } = state.peek();
	if (!time) return undefined;
	if (Math.abs(x - toPixel(time.from, window, width)) < NEAR) return time.to;
	if (Math.abs(x - toPixel(time.to, window, width)) < NEAR) return time.from;
	return undefined;
}

/* An end of the selection, for keyboards and screen readers. */
function Handle({ edge, width }: { edge: "from" | "to"; width: number }) {
	const window = windowRange();
	const whole = wholeRange();
	const selection = state.value.time ?? whole;
	const value = selection[edge];
	const x = toPixel(value, window, width);
	const pixel = Math.max(1, Math.round((window.to - window.from) / Math.max(1, width)));
	const move = (to: number) => {
		const next = { ...selection, [edge]: Math.max(exactFrom(), Math.min(whole.to, Math.round(to))) };
		if (next.from < next.to) go({ time: next }, { replace: true });
	};

	return (
		<div
			class={state.value.time ? "strip-handle" : "strip-handle is-idle"}
			role="slider"
			tabIndex={0}
			data-testid={`handle-${edge}`}
			aria-label={edge === "from" ? "Start of the selection" : "End of the selection"}
			aria-valuemin={exactFrom()}
			aria-valuemax={whole.to}
			aria-valuenow={value}
			aria-valuetext={formatNs(value)}
			hidden={x < -NEAR || x > width + NEAR}
			style={{ left: `${Math.max(0, Math.min(width, x))}px` }}
			onKeyDown={(event) => {
				const step = pixel * (event.shiftKey ? 10 : 1);
				const moves: Record<string, number> = {
					ArrowLeft: value - step,
					ArrowRight: value + step,
					Home: edge === "from" ? exactFrom() : selection.from + 1,
					End: edge === "to" ? whole.to : selection.to - 1,
				};
				const next = moves[event.key];
				if (next === undefined) return;
				move(next);
				event.preventDefault();
				event.stopPropagation();
			}}
		/>
	);
}

const MOMENTS = ["alloc_bytes", "peak_bytes", "end_bytes", "live_bytes", "cpu", "wall", "samples"];

/* Files without a time axis: the moments that they have. */
function Instants() {
	const metrics = (session.value?.open.metrics ?? []).filter(({ name }) => MOMENTS.includes(name));
	const needs = session.value?.open.lacks.find(({ name }) => name === "time")?.needs;

	return (
		<section class="instants" aria-label="Moments" data-testid="instants">
			<div class="segments" role="group" aria-label="Metric">
				{metrics.map(({ name, title }) => (
					<button
						type="button"
						key={name}
						aria-pressed={metric.value.name === name}
						title={title}
						onClick={() => go({ metric: name })}
					>
						{metricTitle(name)}
					</button>
				))}
			</div>
			<p class="muted">
				{session.value?.open.has.comparison ? (
					"A comparison of two recordings has a time axis. One of these files is none: choose the other above."
				) : (
					<>
						This file has no time axis: it holds totals only. {needs && <code>{needs}</code>}
						{needs && " records one."}
					</>
				)}
			</p>
		</section>
	);
}

/* "2.100 s to 7.900 s (5.80 s), peak 412.7 MiB". */
export function SelectionText() {
	const { time, file } = state.value;
	const request = time && hasTime() ? { ask: "timeline", file, ...time, steps: 1 } : undefined;
	const head = useAsk<TimelineHead>(request, [], { isAside: true }).reply?.head;
	const peak = head?.peak;
	const old = head?.before?.peak;

	if (!hasTime()) return null;
	if (!time) return <span>whole run, {formatNs(wholeRange().to)}</span>;
	const length = time.to - time.from;
	if (length <= 1)
		return (
			<span>
				at {formatMoment(time.from, wholeRange().to / 1000)}
				{peak && <>, {formatBytes(peak.bytes)} live</>}
				{old && <>, was {formatBytes(old.bytes)}</>}
			</span>
		);
	return (
		<span>
			{formatMoment(time.from, length / 100)} to {formatMoment(time.to, length / 100)} ({formatNs(length)})
			{peak && <>, peak {formatBytes(peak.bytes)}</>}
			{old && <>, was {formatBytes(old.bytes)}</>}
		</span>
	);
}
