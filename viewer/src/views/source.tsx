/* source.tsx - a source file with the cost of each line. */
import type { Reply } from "../reply.ts";
import { globalRequest, metric } from "../session.ts";
import { Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { useAsk } from "../use_ask.ts";

export function SourceView() {
	return state.value.path ? <Source path={state.value.path} /> : <Files />;
}

/* Files with the largest cost, to choose from. */
function Files() {
	const name = metric.value.name;
	const asked = useAsk<{ rows: number; sum: number[] }>(
		globalRequest("table", { by: "file", metrics: [name], sort: "total", most: 200 }),
	);

	return (
		<Shown asked={asked}>
			{(reply) => {
				const names = reply.texts("name");
				const columns: Column[] = [
					{
						key: "name",
						title: "Source file",
						width: "minmax(10rem, 1fr)",
						cell: (row) => <bdi>{names.at(row)}</bdi>,
					},
					...valueColumns((column, row) => reply.f64(`${column}.${name}`)[row] ?? 0, reply.head.sum[0] ?? 0),
				];
				const open = (row: number) => go({ path: names.at(row) });
				return (
					<Grid label="Source files" testId="files" columns={columns} rows={names.length} onOpen={open} />
				);
			}}
		</Shown>
	);
}

function valueColumns(value: (column: "self" | "total", row: number) => number, whole: number): Column[] {
	const { unit } = metric.value;
	const cell = (column: "self" | "total") => (row: number) => {
		const number = value(column, row);
		return number > 0 ? <Bar value={number} whole={whole} unit={unit} /> : null;
	};

	return [
		{ key: "self", title: "Own", width: "7.5rem", isNumber: true, cell: cell("self") },
		{
			key: "total",
			title: "With callees",
			width: "7.5rem",
			isNumber: true,
			isOptional: true,
			cell: cell("total"),
		},
	];
}

function Source({ path }: { path: string }) {
	const asked = useAsk(globalRequest("source", { path }));

	return (
		<div class="table-view">
			<div class="view-tools">
				<button type="button" class="tool" onClick={() => go({ path: "" })}>
					All files
				</button>
				<code>{path}</code>
			</div>
			<Shown asked={asked}>{(reply) => <Lines reply={reply} />}</Shown>
		</div>
	);
}

function Lines({ reply }: { reply: Reply }) {
	const texts = reply.texts("text");
	const numbers = reply.u32("line");
	const whole = reply.f64("self").reduce((a, b) => a + b, 0);
	const columns: Column[] = [
		...valueColumns((column, row) => reply.f64(column)[row] ?? 0, whole),
		{
			key: "line",
			title: "Line",
			width: "4rem",
			isNumber: true,
			cell: (row) => <span class="muted">{numbers[row]}</span>,
		},
		{
			key: "text",
			title: "Source",
			width: "minmax(10rem, 1fr)",
			cell: (row) => <code class="source-text">{texts.at(row).replace(/\t/g, "    ")}</code>,
		},
	];

	return <Grid label="Source" testId="source" columns={columns} rows={texts.length} />;
}
