/* lifetimes.tsx - how long blocks live: a histogram, and a heat map of sizes and lifetimes. */
import type { Reply } from "../reply.ts";
import { globalRequest } from "../session.ts";
import { Nothing, Shown } from "../shell/shown.tsx";
import { state } from "../state.ts";
import { useAsk } from "../use_ask.ts";
import { HeatMap } from "./heat_map.tsx";
import { BarLegend, beforeOf, Histogram, UnitSwitch } from "./histogram.tsx";

interface LifetimesHead {
	live_blocks: number;
	live_bytes: number;
	before_live_blocks?: number;
	before_live_bytes?: number;
}

export function LifetimesView() {
	const isBytes = state.value.bytes;
	const asked = useAsk<LifetimesHead>(globalRequest("lifetimes"));
	const heat = useAsk(globalRequest("heat"));

	return (
		<Shown asked={asked}>
			{(reply) => (
				<div class="charts">
					<div class="view-tools">
						<UnitSwitch />
						{beforeOf(reply, isBytes) && <BarLegend />}
						<span class="muted">
							Time between allocation and free, of blocks allocated in the selected time.
						</span>
					</div>
					<div class="charts-columns">
						<Lifetimes reply={reply} isBytes={isBytes} />
						<section>
							<h2>Sizes and lifetimes</h2>
							<Shown asked={heat}>{(cells) => <HeatMap reply={cells} isBytes={isBytes} />}</Shown>
						</section>
					</div>
				</div>
			)}
		</Shown>
	);
}

const SHORTEST = 1024; /* ns: no clock of a recording tells shorter lifetimes from each other */

/* The bars, with all short lifetimes as the first one. */
function foldShort(reply: Reply<LifetimesHead>, isBytes: boolean) {
	const [low, high] = [reply.f64("low"), reply.f64("high")];
	const count = high.filter((edge) => edge <= SHORTEST).length;
	const fold = (values: Float64Array) =>
		count === 0
			? values
			: Float64Array.of(
					values.subarray(0, count).reduce((a, b) => a + b, 0),
					...values.subarray(count),
				);
	const before = beforeOf(reply, isBytes);

	return {
		low: count === 0 ? low : Float64Array.of(0, ...low.subarray(count)),
		high: count === 0 ? high : high.subarray(count - 1),
		values: fold(reply.f64(isBytes ? "bytes" : "blocks")),
		before: before && fold(before),
	};
}

function Lifetimes({ reply, isBytes }: { reply: Reply<LifetimesHead>; isBytes: boolean }) {
	const live = isBytes ? reply.head.live_bytes : reply.head.live_blocks;
	const liveBefore = isBytes ? reply.head.before_live_bytes : reply.head.before_live_blocks;

	return (
		<section>
			<h2>Lifetimes</h2>
			{reply.f64("low").length === 0 && !live ? (
				<Nothing text="No blocks were allocated." />
			) : (
				<Histogram
					label="Lifetimes"
					testId="lifetimes"
					{...foldShort(reply, isBytes)}
					edgeUnit="ns"
					valueUnit={isBytes ? "bytes" : "count"}
					extra={live > 0 || liveBefore ? { label: "not freed", value: live, before: liveBefore } : undefined}
				/>
			)}
		</section>
	);
}
