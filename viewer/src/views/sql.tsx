/* sql.tsx - queries on the recording's tables. */
import { useState } from "preact/hooks";
import type { Reply } from "../reply.ts";
import { Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { type Column, Grid } from "../table/grid.tsx";
import { useAsk } from "../use_ask.ts";

interface SqlHead {
	names: string[];
}

const MOST = 5000;

const SCHEMA = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name";

export function SqlView() {
	const { query, file } = state.value;
	const [text, setText] = useState(query || "SELECT name FROM sqlite_master ORDER BY name");
	const asked = useAsk<SqlHead>(query ? { ask: "sql", file, query, most: MOST } : undefined);
	const run = () => go({ query: text });

	return (
		<div class="sql">
			<div class="sql-editor">
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
					<span class="muted">Ctrl-Enter runs the query.</span>
				</div>
				<Schema onPick={(table) => setText(`SELECT * FROM ${table} LIMIT 100`)} />
			</div>
			{query && <Shown asked={asked}>{(reply) => <Result reply={reply} />}</Shown>}
		</div>
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

function Result({ reply }: { reply: Reply<SqlHead> }) {
	const names = reply.head.names;
	const texts = names.map((name) => reply.texts(name));
	const columns: Column[] = names.map((name, i) => {
		const isNumber = (texts[i]?.length ?? 0) > 0 && /^-?[\d.]+$/.test(texts[i]!.at(0));
		return {
			key: `${i} ${name}`,
			title: name,
			width: isNumber ? "minmax(6rem, 10rem)" : "minmax(8rem, 1fr)",
			isNumber,
			cell: (row) => <bdi>{texts[i]!.at(row)}</bdi>,
		};
	});

	return <Grid label="Result" testId="result" columns={columns} rows={texts[0]?.length ?? 0} />;
}
