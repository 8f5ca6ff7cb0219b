/* flame.tsx - the flame graph: who called whom, as wide as their share. */
import { useMemo } from "preact/hooks";
import type { Request } from "../engine.ts";
import { COLOUR_MODES, colourTree } from "../flame/colours.ts";
import { FlameGraph } from "../flame/flame_graph.tsx";
import { layoutTree, type Tree } from "../flame/layout.ts";
import { metricTitle } from "../metric_title.ts";
import type { Reply } from "../reply.ts";
import { contents } from "../report.ts";
import { ageUnit, globalRequest, hasBefore, metric, moduleName, session } from "../session.ts";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { palette } from "../theme.ts";
import { useAsk } from "../use_ask.ts";

export interface TreeHead {
	sum: number;
	whole: number;
}

/* Half a pixel of a wide screen. */
export const LEAST_SHARE = 0.0003;

/* A zoomed branch has its own remainder.  Bottom-up, the engine knows no branches: more of the tree is sent. */
export function treeRequest(invert: boolean, zoom: number[], members: Record<string, unknown> = {}): Request {
	if (zoom.length === 0) return globalRequest("tree", { invert, least: LEAST_SHARE, ...members });
	if (invert) return globalRequest("tree", { invert, least: LEAST_SHARE / 10, ...members });
	return globalRequest("tree", { invert, least: LEAST_SHARE, root: zoom, ...members });
}

/* A report without recording has no ages. */
const hasAge = (): boolean => ageUnit() !== undefined && !contents.value?.series;

/* Members of a request for the chosen colours: a comparison has its own. */
export const colourMembers = (): Record<string, unknown> =>
	state.value.colour === "age" && hasAge() && !hasBefore.value ? { age: true } : {};

export function FlameView() {
	const { zoom, invert } = state.value;
	const asked = useAsk<TreeHead>(treeRequest(invert, zoom, colourMembers()), ["call"]);

	return <Shown asked={asked}>{(reply) => <Flame reply={reply} />}</Shown>;
}

function Flame({ reply }: { reply: Reply<TreeHead> }) {
	const { zoom, search, upward, colour, invert } = state.value;
	const tree = useMemo(() => layoutTree(reply), [reply]);

	if (tree.count === 0 || tree.width[0] === 0) return <Nothing text="No stacks to show." />;
	return (
		<div class="flame-view">
			<Tools tree={tree} />
			<FlameGraph
				tree={tree}
				whole={reply.head.sum}
				zoom={zoom}
				onZoom={(path) => go({ zoom: path })}
				search={search}
				isUpward={upward}
				colour={colour}
				label={`Flame graph of ${metricTitle(metric.value.name)}, ${invert ? "bottom-up" : "top-down"}`}
				rootName="all"
				testId="flame"
			/>
		</div>
	);
}

function Tools({ tree }: { tree: Tree }) {
	const { invert, upward, colour } = state.value;
	const { legend, colours } = useMemo(
		() => colourTree(tree, colour, session.value!.names, palette.value, moduleName, ageUnit() ?? "ns"),
		[tree, colour, palette.value],
	);

	return (
		<div class="view-tools">
			<div class="segments" role="group" aria-label="Direction">
				<button type="button" aria-pressed={!invert} onClick={() => go({ invert: false, zoom: [] })}>
					Top-down
				</button>
				<button type="button" aria-pressed={invert} title="v" onClick={() => go({ invert: true, zoom: [] })}>
					Bottom-up
				</button>
			</div>
			<button
				type="button"
				class="tool"
				aria-pressed={upward}
				title="x"
				onClick={() => go({ upward: !upward })}
			>
				Flip
			</button>
			{!tree.before && (
				<label>
					<span class="muted">Colours</span>{" "}
					<select value={colour} onChange={(event) => go({ colour: event.currentTarget.value })}>
						{COLOUR_MODES.filter(({ name }) => name !== "age" || hasAge()).map(({ name, title }) => (
							<option key={name} value={name}>
								{title}
							</option>
						))}
					</select>
				</label>
			)}
			<ul class="legend" aria-label="Colours">
				{legend.map(({ label, colour: index, mark }) => (
					<li key={label}>
						<span class={mark ? `swatch is-${mark}` : "swatch"} style={{ backgroundColor: colours[index] }} />
						<bdi>{label}</bdi>
					</li>
				))}
			</ul>
		</div>
	);
}
