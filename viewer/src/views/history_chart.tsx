/* history_chart.tsx - live memory over time as stacked areas, one for each of the largest functions. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../engine.ts";
import { formatBytes, formatEdge, formatMoment } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, session } from "../session.ts";
import { hoverDetails } from "../shell/details.tsx";
import { NotCompared } from "../shell/shown.tsx";
import { linkTo } from "../state.ts";
import { byteTicks, timeTicks } from "../strip/ticks.ts";
import { hasTime } from "../strip/time_moves.ts";
import { palette } from "../theme.ts";
import { useAsk } from "../use_ask.ts";
import { useSize } from "../use_size.ts";

const STEPS = 80;
const FUNCTIONS = 7;
const HEIGHT = 150;
const AXIS = 18; /* pixels for times */

interface Layer {
	call: number; // 0: all other functions
	name: string;
	bytes: Float64Array; // by step
	colour: string;
}

function layersOf(reply: Reply): Layer[] {
	const { modules } = palette.value;
	const steps = reply.f64("ns").length;
	const rest = reply.f64("rest");
	const layers = [...reply.u32("call")].map((call, i) => ({
		call,
		name: session.value!.names.of(call).name,
		bytes: reply.f64("bytes").subarray(i * steps, (i + 1) * steps),
		colour: modules[i % (modules.length - 1)]!,
	}));

	if (rest.some((bytes) => bytes > 0))
		layers.push({ call: 0, name: "other functions", bytes: rest, colour: modules.at(-1)! });
	return layers;
}

/* The upper edge of each layer, the lowest first. */
function edgesOf(layers: Layer[], steps: number): Float64Array[] {
	const level = new Float64Array(steps);

	return layers.map(({ bytes }) => {
		for (let i = 0; i < steps; i++) level[i]! += bytes[i]!;
		return level.slice();
	});
}

const PAUSE = 200; /* ms */

/* The request, once it has stayed the same for a moment: the engine answers quicker ones first, and none of a drag. */
function useSettled(request: Request | undefined): Request | undefined {
	const [settled, setSettled] = useState<Request | undefined>(undefined);

	useEffect(() => {
		const wait = setTimeout(() => setSettled(request), PAUSE);
		return () => clearTimeout(wait);
	}, [JSON.stringify(request)]);
	return settled;
}

export function HistoryChart() {
	const request = hasTime() ? globalRequest("history", { steps: STEPS, most: FUNCTIONS }) : undefined;
	const settled = useSettled(request);
	const asked = useAsk<{ rows: number }>(settled, ["call"]);

	if (!hasTime() || asked.error) return null;
	return (
		<section
			class="history"
			aria-busy={!asked.reply || asked.isBusy || JSON.stringify(settled) !== JSON.stringify(request)}
		>
			<h2>Who holds memory over time</h2>
			<NotCompared
				subject="This chart is"
				shown="it shows the memory"
				instead="The tables below show the changes."
			/>
			{asked.reply ? <Chart reply={asked.reply} /> : <div class="history-chart" />}
		</section>
	);
}

function Chart({ reply }: { reply: Reply<{ rows: number }> }) {
	const box = useRef<HTMLDivElement>(null);
	const { width } = useSize(box);
	const ns = reply.f64("ns");
	const layers = layersOf(reply);
	const edges = edgesOf(layers, ns.length);
	const highest = Math.max(1, ...(edges.at(-1) ?? [])) * 1.03;
	const [from, to] = [
		2 * ns[0]! - (ns[1] ?? ns[0]!),
		ns[ns.length - 1]!,
	]; /* the first step begins a step before */
	const x = (moment: number) => ((moment - from) / Math.max(1, to - from)) * width;
	const y = (bytes: number) => (1 - bytes / highest) * (HEIGHT - AXIS);
	const { step, at } = timeTicks(from, to, Math.max(2, width / 110));

	if (layers.length === 0) return <p class="muted">Nothing is live.</p>;
	return (
		<div class="history-parts">
			<div class="history-chart" ref={box}>
				<svg
					width={width}
					height={HEIGHT}
					role="img"
					aria-label={`Live memory by function, up to ${formatBytes(highest / 1.03)}`}
					data-testid="history"
					onPointerMove={(event) => {
						const part = event.offsetX / Math.max(1, width);
						const moment = Math.max(0, Math.min(ns.length - 1, Math.floor(part * ns.length)));
						const largest = layers.toSorted((a, b) => b.bytes[moment]! - a.bytes[moment]!).slice(0, 3);
						hoverDetails.value = {
							title: `at ${formatMoment(ns[moment]!, Math.max(1, (to - from) / 1000))}`,
							parts: [
								`${formatBytes(edges.at(-1)![moment]!)} live`,
								...largest.map(({ name, bytes }) => `${name} ${formatBytes(bytes[moment]!)}`),
							],
						};
					}}
					onPointerLeave={() => {
						hoverDetails.value = undefined;
					}}
				>
					{layers.map(({ name, colour }, i) => (
						<path key={`${i} ${name}`} d={areaOf(ns, edges[i - 1], edges[i]!, x, y)} fill={colour} />
					))}
					{byteTicks(highest, 3).map((bytes) => (
						<g key={bytes}>
							<line class="history-grid" x1={0} x2={width} y1={y(bytes)} y2={y(bytes)} />
							<text class="axis" x={2} y={y(bytes) + 12}>
								{formatEdge(bytes, "bytes")}
							</text>
						</g>
					))}
					{at.map((moment) => (
						<text key={moment} class="axis" x={Math.min(x(moment), width - 34)} y={HEIGHT - 4}>
							{formatMoment(moment, step)}
						</text>
					))}
				</svg>
			</div>
			<ul class="history-names" aria-label="Functions">
				{layers.toReversed().map(({ call, name, colour }) => (
					<li key={`${call} ${name}`}>
						<span class="swatch" style={{ backgroundColor: colour }} />
						{call ? (
							<a href={linkTo({ view: "sandwich", call, metric: "end_bytes" })} title={name}>
								<bdi>{name}</bdi>
							</a>
						) : (
							<span class="muted">{name}</span>
						)}
					</li>
				))}
			</ul>
		</div>
	);
}

/* From the upper edge of the layer below to that of the layer; nothing is live before the first step. */
function areaOf(
	ns: Float64Array,
	below: Float64Array | undefined,
	above: Float64Array,
	x: (ns: number) => number,
	y: (bytes: number) => number,
): string {
	const point = (values: Float64Array | undefined, i: number) =>
		`${x(ns[i]!).toFixed(1)},${y(values?.[i] ?? 0).toFixed(1)}`;
	const upper = Array.from(ns, (_, i) => point(above, i));
	const lower = Array.from(ns, (_, i) => point(below, i)).reverse();
	const start = x(2 * ns[0]! - (ns[1] ?? ns[0]!)).toFixed(1);

	return `M${start},${y(above[0]!).toFixed(1)}L${[...upper, ...lower].join("L")}L${start},${y(below?.[0] ?? 0).toFixed(1)}Z`;
}
