/* lifetimes.tsx - how long blocks live: a histogram, and a heat map of sizes and lifetimes. */
import { useState } from "preact/hooks";
import type { Reply } from "../reply.ts";
import { globalRequest } from "../session.ts";
import { Missing, Nothing, Shown } from "../shell/shown.tsx";
import { useAsk } from "../use_ask.ts";
import { HeatMap } from "./heat_map.tsx";
import { Histogram, UnitSwitch } from "./histogram.tsx";

interface LifetimesHead {
	live_blocks: number;
	live_bytes: number;
}

export function LifetimesView() {
	const [isBytes, setBytes] = useState(false);
	const asked = useAsk<LifetimesHead>(globalRequest("lifetimes"));
	const heat = useAsk(globalRequest("heat"));

	return (
		<Shown asked={asked}>
			{(reply) => (
				<div class="charts">
					<div class="view-tools">
						<UnitSwitch isBytes={isBytes} onChange={setBytes} />
						<span class="muted">
							Time between allocation and free, of blocks allocated in the selected time.
						</span>
					</div>
					<div class="charts-columns">
						<Lifetimes reply={reply} isBytes={isBytes} />
						<section>
							<h2>Sizes and lifetimes</h2>
							{heat.reply ? (
								<HeatMap reply={heat.reply} isBytes={isBytes} />
							) : (
								heat.error && <Missing data="lifetimes" title="The heat map" />
							)}
						</section>
					</div>
				</div>
			)}
		</Shown>
	);
}

function Lifetimes({ reply, isBytes }: { reply: Reply<LifetimesHead>; isBytes: boolean }) {
	const live = isBytes ? reply.head.live_bytes : reply.head.live_blocks;

	return (
		<section>
			<h2>Lifetimes</h2>
			{reply.f64("low").length === 0 && !live ? (
				<Nothing text="No blocks were allocated." />
			) : (
				<Histogram
					label="Lifetimes"
					testId="lifetimes"
					low={reply.f64("low")}
					high={reply.f64("high")}
					values={reply.f64(isBytes ? "bytes" : "blocks")}
					edgeUnit="ns"
					valueUnit={isBytes ? "bytes" : "count"}
					extra={live > 0 ? { label: "not freed", value: live } : undefined}
				/>
			)}
		</section>
	);
}
