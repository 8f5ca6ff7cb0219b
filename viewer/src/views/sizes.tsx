/* sizes.tsx - sizes of the blocks allocated in the selected time. */
import { formatBytes } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, session } from "../session.ts";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar, CallCell } from "../table/cells.tsx";
import { changeColumns } from "../table/change_columns.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { useAsk } from "../use_ask.ts";
import { BarLegend, beforeOf, Histogram, UnitSwitch } from "./histogram.tsx";

export function SizesView() {
	const asked = useAsk(globalRequest("sizes"), ["size_call"]);

	return <Shown asked={asked}>{(reply) => <Sizes reply={reply} />}</Shown>;
}

function Sizes({ reply }: { reply: Reply }) {
	const isBytes = state.value.bytes;
	const [low, high] = [reply.f64("low"), reply.f64("high")];

	if (low.length === 0) return <Nothing text="No blocks were allocated." />;
	return (
		<div class="charts">
			<div class="view-tools">
				<UnitSwitch />
				{beforeOf(reply, isBytes) && <BarLegend />}
				<span class="muted">
					Sizes of blocks allocated in the selected time. Choose a bar for its blocks.
				</span>
			</div>
			<div class="charts-columns">
				<section>
					<h2>Block sizes</h2>
					<Histogram
						label="Block sizes"
						testId="sizes"
						low={low}
						high={high}
						values={reply.f64(isBytes ? "bytes" : "blocks")}
						before={beforeOf(reply, isBytes)}
						edgeUnit="bytes"
						valueUnit={isBytes ? "bytes" : "count"}
						onPick={(i) => go({ view: "blocks", sizes: { from: low[i]!, to: high[i]! + 1 }, call: 0 })}
					/>
				</section>
				<section class="fills">
					<h2>Most frequent sizes</h2>
					<ExactSizes reply={reply} />
				</section>
			</div>
		</div>
	);
}

function ExactSizes({ reply }: { reply: Reply }) {
	const [sizes, counts, calls] = [reply.f64("size"), reply.f64("size_blocks"), reply.u32("size_call")];
	const names = session.value!.names;
	const all = reply.f64("blocks").reduce((a, b) => a + b, 0);
	const columns: Column[] = [
		{ key: "size", title: "Size", width: "6rem", isNumber: true, cell: (row) => formatBytes(sizes[row]!) },
		{
			key: "blocks",
			title: "Blocks",
			width: "minmax(7rem, 0.6fr)",
			isNumber: true,
			cell: (row) => <Bar value={counts[row]!} whole={all} unit="count" />,
		},
		...(reply.has("before_size_blocks")
			? changeColumns({
					key: "blocks",
					unit: "count",
					after: (row) => counts[row]!,
					before: (row) => reply.f64("before_size_blocks")[row]!,
				})
			: []),
		{
			key: "site",
			title: "Mostly from",
			width: "minmax(8rem, 1fr)",
			cell: (row) => {
				const { name, file } = names.of(calls[row]!);
				return <CallCell name={name} place={reply.texts("size_place").at(row)} path={file} />;
			},
		},
	];

	return (
		<Grid
			label="Most frequent sizes"
			testId="exact-sizes"
			columns={columns}
			rows={sizes.length}
			onOpen={(row) => go({ view: "blocks", sizes: { from: sizes[row]!, to: sizes[row]! + 1 }, call: 0 })}
		/>
	);
}
