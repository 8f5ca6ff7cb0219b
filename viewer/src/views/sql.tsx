/* sql.tsx - queries on the recording's tables. */
import { useState } from "preact/hooks";
import type { Reply } from "../reply.ts";
import { Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { TextBar } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { useAsk } from "../use_ask.ts";
import { SqlChart } from "./sql_chart.tsx";

interface SqlHead {
	names: string[];
}

const MOST = 5000;

/* Questions to start from. */
const EXAMPLES = [
	{
		title: "Sites with the most live memory at the end",
		query:
			"SELECT function, sum(end_bytes) AS bytes, sum(end_blocks) AS blocks FROM site GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
	},
	{
		title: "Sizes by number of blocks",
		query: "SELECT size, count(*) AS blocks FROM allocation GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
	},
	{
		title: "Longest lives, by site",
		query:
			"SELECT site, max(free_ns - alloc_ns) / 1e6 AS ms FROM allocation WHERE free_thread > 0 GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
	},
];

const SAVED = "allo-queries";

/* Queries that the user keeps in the browser; none if it stores nothing. */
function readSaved(): string[] {
	try {
		return JSON.parse(localStorage.getItem(SAVED) ?? "[]") as string[];
	} catch {
		return [];
	}
}

const SCHEMA = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name";

export function SqlView() {
	const { query, file } = state.value;
	const [text, setText] = useState(query || EXAMPLES[0]!.query);
	const [saved, setSaved] = useState(readSaved);
	const asked = useAsk<SqlHead>(query ? { ask: "sql", file, query, most: MOST } : undefined);
	const run = () => go({ query: text, axes: [] });
	const keep = (queries: string[]) => {
		setSaved(queries);
		try {
			localStorage.setItem(SAVED, JSON.stringify(queries));
		} catch {
			/* Kept until the page is closed. */
		}
	};

	return (
		<div class="sql">
			<div class="sql-editor">
				<div>
					<textarea
						aria-label="SQL query"
						spellcheck={false}
						value={text}
						onInput={(event) => setText(event.currentTarget.value)}
						onKeyDown={(event) => {
							if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
							event.preventDefault();
							run();
						}}
					/>
					<div class="view-tools">
						<button type="button" class="tool" onClick={run}>
							Run
						</button>
						<button
							type="button"
							class="tool"
							disabled={saved.includes(text)}
							onClick={() => keep([...saved, text])}
						>
							Save
						</button>
						<span class="muted">Ctrl-Enter runs the query.</span>
					</div>
				</div>
				<div class="sql-help">
					<h2>Examples{saved.length > 0 && " and saved queries"}</h2>
					<Queries
						saved={saved}
						onPick={(picked) => {
							setText(picked);
							go({ query: picked, axes: [] });
						}}
						onRemove={(removed) => keep(saved.filter((each) => each !== removed))}
					/>
					<Schema onPick={(table) => setText(`SELECT * FROM ${table} LIMIT 100`)} />
				</div>
			</div>
			{query ? (
				<Shown asked={asked}>{(reply) => <Result reply={reply} />}</Shown>
			) : (
				<p class="empty muted">Run the query, or choose an example: its result appears here.</p>
			)}
		</div>
	);
}

interface QueriesProps {
	saved: string[];
	onPick: (query: string) => void;
	onRemove: (query: string) => void;
}

function Queries({ saved, onPick, onRemove }: QueriesProps) {
	return (
		<ul class="queries" aria-label="Queries" data-testid="queries">
			{EXAMPLES.map(({ title, query }) => (
				<li key={title}>
					<button type="button" class="link" title={query} onClick={() => onPick(query)}>
						{title}
					</button>
				</li>
			))}
			{saved.map((query) => (
				<li key={query}>
					<button type="button" class="link" onClick={() => onPick(query)}>
						<code>{query}</code>
					</button>
					<button type="button" class="plain" aria-label={`Forget ${query}`} onClick={() => onRemove(query)}>
						{"\u00d7"}
					</button>
				</li>
			))}
		</ul>
	);
}

function Schema({ onPick }: { onPick: (table: string) => void }) {
	const { reply } = useAsk<SqlHead>({ ask: "sql", file: state.value.file, query: SCHEMA, most: 200 });
	const names = reply?.texts(reply.head.names[0] ?? "");
	const sql = reply?.texts(reply.head.names[1] ?? "");

	return (
		<details class="schema">
			<summary>Tables</summary>
			<ul>
				{Array.from({ length: names?.length ?? 0 }, (_, i) => (
					<li key={names!.at(i)}>
						<button type="button" class="link" onClick={() => onPick(names!.at(i))}>
							{names!.at(i)}
						</button>
						<code>{sql?.at(i).replace(/\s+/g, " ")}</code>
					</li>
				))}
			</ul>
		</details>
	);
}

/* The numbers of a column; undefined if it has other values, too. */
function numbersOf(texts: { length: number; at(index: number): string }): number[] | undefined {
	const values = Array.from({ length: texts.length }, (_, row) => texts.at(row));

	return values.length > 0 && values.every((text) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text))
		? values.map(Number)
		: undefined;
}

function Result({ reply }: { reply: Reply<SqlHead> }) {
	const names = reply.head.names;
	const texts = names.map((name) => reply.texts(name));
	const columns: Column[] = names.map((name, i) => {
		const values = numbersOf(texts[i]!);
		const isNumber = values !== undefined;
		const largest = values ? Math.max(0, ...values) : 0;
		return {
			key: `${i} ${name}`,
			title: name,
			width: isNumber ? "minmax(6rem, 10rem)" : "minmax(8rem, 1fr)",
			isNumber,
			/* Numbers have a bar, so that a result is a chart as well. */
			cell: (row) =>
				values ? (
					<TextBar text={texts[i]!.at(row)} share={largest > 0 ? values[row]! / largest : 0} />
				) : (
					<bdi>{texts[i]!.at(row)}</bdi>
				),
		};
	});

	const rows = texts[0]?.length ?? 0;
	return (
		<>
			<SqlChart
				columns={names.map((name, i) => ({
					name,
					text: (row) => texts[i]!.at(row),
					values: numbersOf(texts[i]!),
				}))}
				rows={rows}
			/>
			<Grid label="Result" testId="result" columns={columns} rows={rows} />
		</>
	);
}
