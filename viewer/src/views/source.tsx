/* source.tsx - a source file with the cost of each line. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { commentStarts, languageOf, tokensOf } from "../highlight.ts";
import type { Reply } from "../reply.ts";
import { sourceLines } from "../report.ts";
import { globalRequest, metric, session } from "../session.ts";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar } from "../table/cells.tsx";
import { changeColumns } from "../table/change_columns.tsx";
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
					...valueColumns(
						(column, row) => reply.f64(`${column}.${name}`)[row] ?? 0,
						reply.head.sum[0] ?? 0,
						reply.has(`before.self.${name}`)
							? (column, row) => reply.f64(`before.${column}.${name}`)[row] ?? 0
							: undefined,
					),
				];
				const open = (row: number) => go({ path: names.at(row), line: 0 });
				return (
					<Grid label="Source files" testId="files" columns={columns} rows={names.length} onOpen={open} />
				);
			}}
		</Shown>
	);
}

type LineValue = (column: "self" | "total", row: number) => number;

/* With `before`, the change of the own value; a row has changed even if it has no value now. */
function valueColumns(value: LineValue, whole: number, before: LineValue | undefined): Column[] {
	const { unit } = metric.value;
	const cell = (column: "self" | "total") => (row: number) => {
		const number = value(column, row);
		return number > 0 ? <Bar value={number} whole={whole} unit={unit} /> : null;
	};

	const changes = before
		? changeColumns({
				key: "self",
				unit,
				after: (row) => value("self", row),
				before: (row) => before("self", row),
			}).map(({ cell: shown, ...column }) => ({
				...column,
				cell: (row: number) => (value("self", row) || before("self", row) ? shown(row) : null),
			}))
		: [];

	return [
		{ key: "self", title: "Own", width: "minmax(7.5rem, 0.2fr)", isNumber: true, cell: cell("self") },
		...changes,
		{
			key: "total",
			title: "With callees",
			width: "minmax(7.5rem, 0.2fr)",
			isNumber: true,
			isOptional: true,
			cell: cell("total"),
		},
	];
}

/* A server reads the file; a report has the lines of its functions, and the engine their values. */
function Source({ path }: { path: string }) {
	const { isServer } = session.value!.engine;
	const asked = useAsk(globalRequest(isServer ? "source" : "lines", { path }));

	return (
		<div class="table-view">
			<div class="view-tools">
				<button type="button" class="tool" onClick={() => go({ path: "", line: 0 })}>
					All files
				</button>
				<code>{path}</code>
			</div>
			<Shown asked={asked}>
				{(reply) => <Lines {...(isServer ? ownLines(reply) : reportLines(path, reply))} />}
			</Shown>
		</div>
	);
}

interface LinesProps {
	count: number;
	line(row: number): number;
	text(row: number): string;
	value: LineValue;
	before: LineValue | undefined;
	whole: number;
}

/* Bars are shares of the largest line: a call counts in full at each line on the way to it. */
const largestOf = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b), 0);

function ownLines(reply: Reply): LinesProps {
	const texts = reply.texts("text");

	return {
		count: texts.length,
		line: (row) => reply.u32("line")[row] ?? 0,
		text: (row) => texts.at(row),
		value: (column, row) => reply.f64(column)[row] ?? 0,
		before: reply.has("before_self") ? (column, row) => reply.f64(`before_${column}`)[row] ?? 0 : undefined,
		whole: largestOf(reply.f64("total")),
	};
}

function reportLines(path: string, reply: Reply): LinesProps {
	const lines = sourceLines(path);
	const rows = new Map([...reply.u32("line")].map((line, i) => [line, i]));
	const rowOf = (row: number) => rows.get(lines[row]?.line ?? 0) ?? -1;

	return {
		count: lines.length,
		line: (row) => lines[row]?.line ?? 0,
		text: (row) => lines[row]?.text ?? "",
		value: (column, row) => reply.f64(column)[rowOf(row)] ?? 0,
		before: reply.has("before_self")
			? (column, row) => reply.f64(`before_${column}`)[rowOf(row)] ?? 0
			: undefined,
		whole: largestOf(reply.f64("total")),
	};
}

/* A tab is four columns wide. */
const withoutTabs = (text: string) => text.replace(/\t/g, "    ");

/* The text of a row, coloured by what it is. */
function useHighlight(count: number, text: (row: number) => string): (row: number) => ComponentChildren {
	const language = languageOf(state.value.path);
	const starts = useMemo(
		() => (language ? commentStarts(count, text, language) : undefined),
		[state.value.path, count],
	);

	return (row) => {
		if (!language || !starts) return withoutTabs(text(row));
		return tokensOf(withoutTabs(text(row)), language, starts[row] === 1)[0].map((token, i) => (
			<span key={i} class={token.kind ? `is-${token.kind}` : undefined}>
				{token.text}
			</span>
		));
	};
}

function Lines({ count, line, text, value, before, whole }: LinesProps) {
	const highlight = useHighlight(count, text);
	const columns: Column[] = [
		...valueColumns(value, whole, before),
		{
			key: "line",
			title: "Line",
			width: "4rem",
			isNumber: true,
			cell: (row) => <span class="muted">{line(row)}</span>,
		},
		{
			key: "text",
			title: "Source",
			width: "minmax(10rem, 1fr)",
			cell: (row) => <code class="source-text">{highlight(row)}</code>,
		},
	];

	const rows = Array.from({ length: count }, (_, row) => row);
	const cost = (row: number) => value("total", row);
	const largest = rows.reduce((best, row) => (cost(row) > cost(best) ? row : best), 0);
	const chosen = rows.find((row) => line(row) === state.value.line);
	const withCost = rows.filter((row) => cost(row) > 0);

	if (count === 0) return <Nothing text="The report has no lines of this file." />;
	return (
		<Grid
			key={state.value.line}
			label="Source"
			testId="source"
			columns={columns}
			rows={count}
			startRow={chosen ?? largest}
			isMarked={(row) => row === chosen}
			onKey={(key, row) => {
				const next =
					key === "n" ? withCost.find((each) => each > row) : withCost.findLast((each) => each < row);
				if ((key !== "n" && key !== "N") || next === undefined) return false;
				go({ line: line(next) }, { replace: true });
				return true;
			}}
		/>
	);
}
