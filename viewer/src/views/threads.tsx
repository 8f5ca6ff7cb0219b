/* threads.tsx - what each thread allocates, and who frees it. */
import { formatCount, formatShare, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest } from "../session.ts";
import { hoverDetails } from "../shell/details.tsx";
import { Nothing, Shown } from "../shell/shown.tsx";
import { addFilter } from "../state.ts";
import { Bar, Share } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { palette } from "../theme.ts";
import { useAsk } from "../use_ask.ts";
import { heatStep } from "./heat_map.tsx";

const MOST_IN_MATRIX = 24;

export function ThreadsView() {
	const asked = useAsk(globalRequest("threads"));

	return <Shown asked={asked}>{(reply) => <Threads reply={reply} />}</Shown>;
}

const nameOf = (reply: Reply, row: number) => {
	const name = reply.texts("name").at(row);
	const id = reply.u32("id")[row] ?? 0;
	return name ? `${name} (${id})` : `thread ${id}`;
};

function Threads({ reply }: { reply: Reply }) {
	const count = reply.u32("id").length;

	if (count === 0) return <Nothing text="No threads to show." />;
	return (
		<div class="charts">
			<div class="threads-table">
				<Grid
					label="Threads"
					testId="threads"
					columns={columnsOf(reply)}
					rows={count}
					onOpen={(row) => addFilter(`thread:${reply.u32("id")[row]}`)}
				/>
			</div>
			<section>
				<h2>Allocated by (rows), freed by (columns)</h2>
				{count > MOST_IN_MATRIX && (
					<p class="muted">
						The first {MOST_IN_MATRIX} of {formatCount(count)} threads.
					</p>
				)}
				<Matrix reply={reply} count={Math.min(count, MOST_IN_MATRIX)} />
			</section>
		</div>
	);
}

function columnsOf(reply: Reply): Column[] {
	const number = (name: string, row: number) => reply.f64(name)[row] ?? 0;
	const sum = (name: string) => reply.f64(name).reduce((a, b) => a + b, 0);
	const [allocated, live] = [sum("alloc_bytes"), sum("live_bytes")];
	const frees = (row: number) => number("frees_own", row) + number("frees_other", row);
	const numberColumn = (key: string, title: string, cell: Column["cell"], isOptional = false): Column => ({
		key,
		title,
		width: "minmax(6rem, 8.5rem)",
		isNumber: true,
		isOptional,
		cell,
	});

	return [
		{
			key: "name",
			title: "Thread",
			width: "minmax(8rem, 1fr)",
			cell: (row) => <bdi>{nameOf(reply, row)}</bdi>,
		},
		numberColumn("bytes", "Allocated", (row) => (
			<Bar value={number("alloc_bytes", row)} whole={allocated} unit="bytes" />
		)),
		numberColumn("blocks", "Blocks", (row) => formatCount(number("alloc_blocks", row)), true),
		numberColumn("live", "Live", (row) => (
			<Bar value={number("live_bytes", row)} whole={live} unit="bytes" />
		)),
		numberColumn(
			"temporary",
			"Temporary",
			(row) => <Share value={number("temporary_blocks", row)} whole={number("alloc_blocks", row)} />,
			true,
		),
		numberColumn(
			"other",
			"Freed elsewhere",
			(row) => <Share value={number("frees_other", row)} whole={frees(row)} />,
			true,
		),
	];
}

/* A table whose cells are coloured by the number of blocks. */
function Matrix({ reply, count }: { reply: Reply; count: number }) {
	const [from, to, blocks] = [reply.u32("from"), reply.u32("to"), reply.f64("freed_blocks")];
	const cells = new Float64Array(count * count);
	const { heat } = palette.value;

	from.forEach((row, i) => {
		if (row < count && to[i]! < count) cells[row * count + to[i]!] = blocks[i]!;
	});
	const most = cells.reduce((a, b) => Math.max(a, b), 1);
	const all = blocks.reduce((a, b) => a + b, 0);
	const threads = Array.from({ length: count }, (_, i) => i);
	return (
		<div class="matrix-box">
			<table class="matrix" data-testid="matrix">
				<thead>
					<tr>
						<td />
						{threads.map((column) => (
							<th key={column} scope="col" title={nameOf(reply, column)}>
								<bdi>{nameOf(reply, column)}</bdi>
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{threads.map((row) => (
						<tr key={row}>
							<th scope="row">
								<bdi>{nameOf(reply, row)}</bdi>
							</th>
							{threads.map((column) => (
								<Cell
									key={column}
									value={cells[row * count + column]!}
									all={all}
									step={heatStep(cells[row * count + column]!, most, heat.length)}
									title={`allocated by ${nameOf(reply, row)}, freed by ${nameOf(reply, column)}`}
								/>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function Cell({ value, all, step, title }: { value: number; all: number; step: number; title: string }) {
	return (
		<td
			class={value > 0 ? `heat-${step}` : "none"}
			onPointerEnter={() => {
				hoverDetails.value = {
					title,
					parts: [plural(value, "block"), `${formatShare(value, all)} of all frees`],
				};
			}}
			onPointerLeave={() => {
				hoverDetails.value = undefined;
			}}
		>
			{value > 0 ? formatCount(value) : ""}
		</td>
	);
}
