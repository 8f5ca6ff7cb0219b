/* threads.tsx - what each thread allocates, and who frees it. */
import { formatChange, formatCount, formatShare, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, session } from "../session.ts";
import { hoverDetails } from "../shell/details.tsx";
import { Nothing, Shown } from "../shell/shown.tsx";
import { addFilter } from "../state.ts";
import { Bar, Share } from "../table/cells.tsx";
import { changeColumns } from "../table/change_columns.tsx";
import { type Column, Grid, ROW_HEIGHT } from "../table/grid.tsx";
import { palette } from "../theme.ts";
import { useAsk } from "../use_ask.ts";

const MOST_IN_MATRIX = 24;

export function ThreadsView() {
	const asked = useAsk(globalRequest("threads"));

	return <Shown asked={asked}>{(reply) => <Threads reply={reply} />}</Shown>;
}

/* Names of threads; those that several have get their number. */
function namesOf(reply: Reply): string[] {
	const ids = [...reply.u32("id")];
	const names = ids.map((_, row) => reply.texts("name").at(row));
	const count = new Map<string, number>();

	for (const name of names) count.set(name, (count.get(name) ?? 0) + 1);
	return names.map((name, row) => {
		if (!name) return `thread ${ids[row]}`;
		return count.get(name)! > 1 ? `${name} (${ids[row]})` : name;
	});
}

/* The numbers of threads differ between two recordings: their names are the same. */
function filterOf(reply: Reply, row: number): string {
	const isPair = session.value!.open.has.comparison;

	return (isPair && reply.texts("name").at(row)) || String(reply.u32("id")[row]);
}

function Threads({ reply }: { reply: Reply }) {
	const count = reply.u32("id").length;

	if (count === 0) return <Nothing text="No threads to show." />;
	return (
		<div class="charts">
			<div class="threads-table" style={{ height: `${(count + 1) * ROW_HEIGHT + 12}px` }}>
				<Grid
					label="Threads"
					testId="threads"
					columns={columnsOf(reply)}
					rows={count}
					onOpen={(row) => addFilter(`thread:${filterOf(reply, row)}`)}
				/>
			</div>
			{count > 1 && (
				<section>
					<h2>Blocks by allocating thread (rows) and freeing thread (columns)</h2>
					{count > MOST_IN_MATRIX && (
						<p class="muted">
							The first {MOST_IN_MATRIX} of {formatCount(count)} threads.
						</p>
					)}
					<Matrix reply={reply} count={Math.min(count, MOST_IN_MATRIX)} />
				</section>
			)}
		</div>
	);
}

function columnsOf(reply: Reply): Column[] {
	const number = (name: string, row: number) => reply.f64(name)[row] ?? 0;
	const sum = (name: string) => reply.f64(name).reduce((a, b) => a + b, 0);
	const [allocated, live] = [sum("alloc_bytes"), sum("live_bytes")];
	const frees = (row: number) => number("frees_own", row) + number("frees_other", row);
	const changes = (key: string, title: string) =>
		reply.has(`before_${key}`)
			? changeColumns({
					key,
					title,
					unit: "bytes",
					after: (row) => number(key, row),
					before: (row) => number(`before_${key}`, row),
				})
			: [];
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
			cell: (row) => (
				<>
					<bdi>{reply.texts("name").at(row) || "thread"}</bdi>{" "}
					<span class="place">{reply.u32("id")[row]}</span>
				</>
			),
		},
		numberColumn("bytes", "Allocated", (row) => (
			<Bar value={number("alloc_bytes", row)} whole={allocated} unit="bytes" />
		)),
		...changes("alloc_bytes", "Allocated"),
		numberColumn("blocks", "Blocks", (row) => formatCount(number("alloc_blocks", row)), true),
		numberColumn("live", "Live", (row) => (
			<Bar value={number("live_bytes", row)} whole={live} unit="bytes" />
		)),
		...changes("live_bytes", "Live"),
		numberColumn(
			"temporary",
			"Temporary",
			(row) => <Share value={number("temporary_blocks", row)} whole={number("alloc_blocks", row)} />,
			true,
		),
		numberColumn(
			"other",
			"Frees of others' blocks",
			(row) => <Share value={number("frees_other", row)} whole={frees(row)} />,
			true,
		),
	];
}

/* Steps of the square root: most blocks stay in their thread, and the others still differ. */
const shareStep = (share: number, steps: number): number =>
	Math.min(steps - 1, Math.floor(Math.sqrt(share) * steps));

/* A table whose cells are coloured by the number of blocks. */
function Matrix({ reply, count }: { reply: Reply; count: number }) {
	const [from, to, blocks] = [reply.u32("from"), reply.u32("to"), reply.f64("freed_blocks")];
	const cells = new Float64Array(count * count);
	const old = reply.has("before_freed_blocks") ? reply.f64("before_freed_blocks") : undefined;
	const changes = old && new Float64Array(count * count);
	const { heat } = palette.value;

	from.forEach((row, i) => {
		if (row >= count || to[i]! >= count) return;
		cells[row * count + to[i]!] = blocks[i]!;
		if (changes) changes[row * count + to[i]!] = blocks[i]! - old[i]!;
	});
	const most = cells.reduce((a, b) => Math.max(a, b), 1);
	const all = blocks.reduce((a, b) => a + b, 0);
	const threads = Array.from({ length: count }, (_, i) => i);
	const names = namesOf(reply);
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by key
		<div class="matrix-box" role="region" aria-label="Blocks by allocating and freeing thread" tabIndex={0}>
			<table class="matrix" data-testid="matrix">
				<thead>
					<tr>
						<td />
						{threads.map((column) => (
							<th key={column} scope="col" title={names[column]}>
								<bdi>{names[column]}</bdi>
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{threads.map((row) => (
						<tr key={row}>
							<th scope="row">
								<bdi>{names[row]}</bdi>
							</th>
							{threads.map((column) => (
								<Cell
									key={column}
									value={cells[row * count + column]!}
									change={changes?.[row * count + column]}
									all={all}
									step={shareStep(cells[row * count + column]! / most, heat.length)}
									title={`allocated by ${names[row]}, freed by ${names[column]}`}
								/>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

interface CellProps {
	value: number;
	change: number | undefined; // against the base
	all: number;
	step: number;
	title: string;
}

function Cell({ value, change, all, step, title }: CellProps) {
	const parts = [plural(value, "block"), `${formatShare(value, all)} of all frees`];

	if (change !== undefined) parts.push(`${formatChange(change, "count")} against the base`);
	return (
		<td
			class={value > 0 ? `heat-${step}` : "none"}
			onPointerEnter={() => {
				hoverDetails.value = { title, parts };
			}}
			onPointerLeave={() => {
				hoverDetails.value = undefined;
			}}
		>
			{value > 0 ? formatCount(value) : ""}
			{change ? <small>{formatChange(change, "count")}</small> : null}
		</td>
	);
}
