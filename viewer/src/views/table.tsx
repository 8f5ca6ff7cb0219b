/* table.tsx - who allocates: rows by function, line, file, module or label. */
import { callMenu, valueOfAll } from "../call_actions.ts";
import { formatCount } from "../format.ts";
import { metricTitle } from "../metric_title.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, hasBefore, metric, session } from "../session.ts";
import { cursorDetails } from "../shell/details.tsx";
import { openMenu } from "../shell/menu.tsx";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar, CallCell, Factor, Share } from "../table/cells.tsx";
import { changeColumns } from "../table/change_columns.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { type Pages, usePages } from "../table/pages.ts";

interface TableHead {
	rows: number;
	sum: number[];
}

const BY = [
	{ name: "function", title: "Functions" },
	{ name: "site", title: "Lines" },
	{ name: "file", title: "Files" },
	{ name: "module", title: "Modules" },
	{ name: "leaf", title: "Callers of malloc" },
] as const;

/* A metric that explains the chosen one: blocks beside bytes. */
function companionOf(name: string): string | undefined {
	const other = name.endsWith("_bytes")
		? name.replace(/_bytes$/, "_blocks")
		: name.replace(/_blocks$/, "_bytes");

	return session.value?.open.metrics.find((each) => each.name === other && other !== name)?.name;
}

/* A comparison is read by its largest changes. */
const defaultSort = () => (hasBefore.value ? "change" : "self");

export function TableView() {
	const { by, sort, ascending, search } = state.value;
	const companion = companionOf(metric.value.name);
	const metrics = companion ? [metric.value.name, companion] : [metric.value.name];
	const pages = usePages<TableHead>(
		globalRequest("table", {
			by,
			metrics,
			sort: sort || defaultSort(),
			ascending,
			...(search ? { search } : {}),
		}),
		["call"],
	);

	return (
		<div class="table-view">
			<GroupBy />
			<Shown asked={pages}>{(reply) => <Rows reply={reply} pages={pages} metrics={metrics} />}</Shown>
		</div>
	);
}

function GroupBy() {
	const { by } = state.value;

	return (
		<div class="view-tools">
			<div class="segments" role="group" aria-label="Rows">
				{BY.map(({ name, title }) => (
					<button
						type="button"
						key={name}
						aria-pressed={by === name}
						onClick={() => go({ by: name, sort: "" })}
					>
						{title}
					</button>
				))}
			</div>
		</div>
	);
}

type RowValue = (column: string, row: number) => number;

function Rows({
	reply,
	pages,
	metrics,
}: {
	reply: Reply<TableHead>;
	pages: Pages<TableHead>;
	metrics: string[];
}) {
	const { sort, ascending, call } = state.value;
	const { head } = reply;
	const value: RowValue = (column, row) => {
		const found = pages.find(row);
		return found?.reply.f64(column)[found.at] ?? 0;
	};
	const text = (column: string, row: number) => {
		const found = pages.find(row);
		return found?.reply.texts(column).at(found.at) ?? "";
	};
	const callOf = (row: number) => {
		const found = pages.find(row);
		return found?.reply.u32("call")[found.at] ?? 0;
	};
	const isOwn = (row: number) => callOf(row) !== 0 && session.value!.names.of(callOf(row)).kind === 0;
	const hasBase = reply.has(`before.self.${metrics[0]}`);
	const nameColumn: Column = {
		key: "name",
		title: "Name",
		width: "minmax(10rem, 1fr)",
		sort: "name",
		cell: (row) => (
			<CallCell
				name={text("name", row) || "\u2026"}
				place={text("place", row)}
				note={text("via", row)}
				isOwn={isOwn(row)}
			/>
		),
	};
	const columns = [nameColumn, ...valueColumns(metrics, head.sum, value, hasBase)];
	const sortBy = (next: string) =>
		go({ sort: next, ascending: next === sort ? !ascending : next === "name" });

	return (
		<>
			<Grid
				label={`Table of ${metricTitle(metric.value.name)}`}
				testId="table"
				columns={columns}
				rows={head.rows}
				sort={sort || defaultSort()}
				isAscending={ascending}
				onSort={sortBy}
				onRange={pages.need}
				onSelect={(row) => {
					go({ call: callOf(row) }, { replace: true });
					cursorDetails.value = {
						title: text("name", row),
						place: text("place", row),
						parts: [valueOfAll(value(`self.${metrics[0]}`, row), head.sum[0] ?? 0)],
					};
				}}
				onOpen={(row) => callOf(row) && go({ view: "sandwich", call: callOf(row) })}
				onMenu={(row, x, y) => {
					const chosen = callOf(row);
					if (chosen) openMenu({ x, y, title: text("name", row), items: callMenu(chosen) });
				}}
				isMarked={(row) => call !== 0 && callOf(row) === call}
				empty={<Nothing text="No rows." />}
			/>
			<p class="table-foot">
				{formatCount(head.rows)} rows
				{state.value.search && " that match the search"}
			</p>
		</>
	);
}

function valueColumns(metrics: string[], sums: number[], value: RowValue, hasBase: boolean): Column[] {
	const known = session.value?.open.metrics ?? [];
	const columns: Column[] = [];

	metrics.forEach((name, i) => {
		const unit = known.find((each) => each.name === name)?.unit ?? "count";
		const word = unit === "bytes" ? "bytes" : unit === "count" ? "blocks" : unit;
		const whole = sums[i] ?? 0;
		if (i === 0 && hasBase) columns.push(...comparedColumns(name, unit, value));
		columns.push({
			key: `self ${name}`,
			title: `Own ${word}`,
			hint: "Allocated by the row itself",
			width: "minmax(6.5rem, 9rem)",
			isNumber: true,
			isOptional: i > 0,
			leastWidth: i > 0 && hasBase ? 1500 : 0,
			sort: i === 0 ? "self" : undefined,
			cell: (row) => <Bar value={value(`self.${name}`, row)} whole={whole} unit={unit} />,
		});
		if (i === 0)
			columns.push({
				key: "share",
				title: "Share",
				width: "4rem",
				isNumber: true,
				cell: (row) => <Share value={value(`self.${name}`, row)} whole={whole} />,
			});
		columns.push({
			key: `total ${name}`,
			title: `With callees, ${word}`,
			hint: "Allocated by the row and everything it calls",
			width: "minmax(6.5rem, 9rem)",
			isNumber: true,
			isOptional: true,
			leastWidth: i > 0 && hasBase ? 1500 : 0,
			sort: i === 0 ? "total" : undefined,
			cell: (row) => <Bar value={value(`total.${name}`, row)} whole={whole} unit={unit} />,
		});
	});
	return columns;
}

function comparedColumns(name: string, unit: string, value: RowValue): Column[] {
	const after = (row: number) => value(`self.${name}`, row);
	const before = (row: number) => value(`before.self.${name}`, row);

	return [
		...changeColumns({ key: name, unit, after, before, sort: "change" }),
		{
			key: "factor",
			title: "Change, %",
			width: "5rem",
			isNumber: true,
			cell: (row) => <Factor after={after(row)} before={before(row)} />,
		},
	];
}
