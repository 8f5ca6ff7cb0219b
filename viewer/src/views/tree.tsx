/* tree.tsx - calls as rows that open: top-down or bottom-up, and DHAT's presets where the data has them. */
import { useMemo, useState } from "preact/hooks";
import { callMenu } from "../call_actions.ts";
import type { Request } from "../engine.ts";
import { layoutTree, pathTo, type Tree } from "../flame/layout.ts";
import { plural } from "../format.ts";
import { metricTitle } from "../metric_title.ts";
import type { Reply } from "../reply.ts";
import { metric, session } from "../session.ts";
import { cursorDetails } from "../shell/details.tsx";
import { openMenu } from "../shell/menu.tsx";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar, CallCell, Change, Share } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { defaultExpansion, visibleRows } from "../table/tree_rows.ts";
import { useAsk } from "../use_ask.ts";
import { DhatTools, DhatTree } from "./dhat_tree.tsx";
import { type TreeHead, treeRequest } from "./flame.tsx";

export function TreeView() {
	const { invert, zoom, preset } = state.value;

	return (
		<div class="table-view">
			<Tools />
			{preset ? <DhatTree /> : <CallTree request={treeRequest(invert, zoom)} />}
		</div>
	);
}

function CallTree({ request }: { request: Request }) {
	const asked = useAsk<TreeHead>(request, ["call"]);

	return <Shown asked={asked}>{(reply) => <Rows key={JSON.stringify(request)} reply={reply} />}</Shown>;
}

function Tools() {
	const { invert, preset, zoom } = state.value;

	return (
		<div class="view-tools">
			<div class="segments" role="group" aria-label="Direction">
				<button
					type="button"
					aria-pressed={!invert && !preset}
					onClick={() => go({ invert: false, zoom: [], preset: "" })}
				>
					Top-down
				</button>
				<button
					type="button"
					aria-pressed={invert && !preset}
					title="v"
					onClick={() => go({ invert: true, zoom: [], preset: "" })}
				>
					Bottom-up
				</button>
			</div>
			<DhatTools />
			{zoom.length > 0 && !preset && (
				<button type="button" class="tool" onClick={() => go({ zoom: [] })}>
					Whole tree
				</button>
			)}
			{!preset && (
				<span class="muted wide">Right and Left open and close rows; * opens the largest path.</span>
			)}
		</div>
	);
}

function Rows({ reply }: { reply: Reply<TreeHead> }) {
	const tree = useMemo(() => layoutTree(reply), [reply]);
	const [open, setOpen] = useState(() => defaultExpansion(tree));
	const rows = useMemo(() => visibleRows(tree, open), [tree, open]);
	const toggle = (row: number, isOpen: boolean) => {
		const node = rows[row];
		if (node === undefined || node < 0) return;
		const next = new Set(open);
		if (isOpen) next.add(node);
		else next.delete(node);
		setOpen(next);
	};
	const openPath = (row: number) => {
		const next = new Set(open);
		for (let node = rows[row] ?? 0; node >= 0 && tree.end[node]! > node + 1; node++) next.add(node);
		setOpen(next);
	};
	const press = (row: number) => {
		const node = rows[row];
		if (node === undefined) return;
		if (node < 0) go({ zoom: pathTo(tree, ~node) });
		else toggle(row, !open.has(node));
	};

	if (tree.count < 2) return <Nothing text="No stacks to show." />;
	return (
		<Grid
			label={`Tree of ${metricTitle(metric.value.name)}`}
			testId="tree"
			role="treegrid"
			columns={columnsOf(tree, rows, open, reply.head.sum, press)}
			rows={rows.length}
			onSelect={(row) => select(tree, rows[row] ?? 0)}
			onOpen={press}
			onMenu={(row, x, y) => {
				const node = rows[row] ?? -1;
				const call = node >= 0 ? tree.call[node]! : 0;
				if (call) openMenu({ x, y, title: session.value!.names.of(call).name, items: callMenu(call) });
			}}
			onKey={(key, row) => {
				if (key === "ArrowRight") toggle(row, true);
				else if (key === "ArrowLeft") toggle(row, false);
				else if (key === "*") openPath(row);
				else return false;
				return true;
			}}
			rowAttributes={(row) => attributes(tree, rows[row] ?? 0, open)}
		/>
	);
}

function select(tree: Tree, node: number): void {
	if (node < 0) return;
	const call = tree.call[node]!;
	const names = session.peek()!.names;
	go({ call }, { replace: true });
	cursorDetails.value = { title: call ? names.of(call).full : "all", place: names.place(call), parts: [] };
}

function attributes(tree: Tree, node: number, open: Set<number>): Record<string, unknown> {
	const hasChildren = node >= 0 && (tree.end[node]! > node + 1 || tree.leftOut[node]! > 0);

	return {
		"aria-level": (node < 0 ? tree.depth[~node]! + 1 : tree.depth[node]!) + 1,
		...(hasChildren ? { "aria-expanded": open.has(node) } : {}),
	};
}

function columnsOf(
	tree: Tree,
	rows: Int32Array,
	open: Set<number>,
	whole: number,
	press: (row: number) => void,
): Column[] {
	const { unit } = metric.value;
	const node = (row: number) => rows[row] ?? 0;
	const total = (row: number) => (node(row) < 0 ? tree.leftOutValue[~node(row)]! : tree.total[node(row)]!);
	const columns: Column[] = [
		{
			key: "call",
			title: "Call",
			width: "minmax(12rem, 1fr)",
			cell: (row) => (
				<NameCell tree={tree} node={node(row)} isOpen={open.has(node(row))} onPress={() => press(row)} />
			),
		},
		{
			key: "total",
			title: "Total",
			width: "minmax(7rem, 10rem)",
			isNumber: true,
			cell: (row) => <Bar value={total(row)} whole={whole} unit={unit} />,
		},
		{
			key: "share",
			title: "Share",
			width: "4rem",
			isNumber: true,
			isOptional: true,
			cell: (row) => <Share value={total(row)} whole={whole} />,
		},
		{
			key: "self",
			title: "Own",
			width: "minmax(6rem, 8rem)",
			isNumber: true,
			isOptional: true,
			cell: (row) => (node(row) < 0 ? null : <Bar value={tree.self[node(row)]!} whole={whole} unit={unit} />),
		},
	];
	const { before } = tree;
	if (before)
		columns.splice(1, 0, {
			key: "change",
			title: "Change",
			width: "8rem",
			isNumber: true,
			cell: (row) =>
				node(row) < 0 ? null : <Change after={total(row)} before={before[node(row)]!} unit={unit} />,
		});
	return columns;
}

const INDENT = 14; /* pixels per level */
const DEEPEST_INDENT = 30; /* levels; deeper rows stay readable */

function NameCell({
	tree,
	node,
	isOpen,
	onPress,
}: {
	tree: Tree;
	node: number;
	isOpen: boolean;
	onPress: () => void;
}) {
	const names = session.value!.names;
	const depth = node < 0 ? tree.depth[~node]! + 1 : tree.depth[node]!;
	const indent = { paddingLeft: `min(${Math.min(depth, DEEPEST_INDENT) * INDENT}px, 40%)` };

	if (node < 0)
		return (
			<span class="tree-name" style={indent}>
				<button type="button" class="link" tabIndex={-1} onClick={onPress}>
					+ {plural(tree.leftOut[~node]!, "smaller call")}
				</button>
			</span>
		);
	const call = tree.call[node]!;
	const hasChildren = tree.end[node]! > node + 1 || tree.leftOut[node]! > 0;
	const { name, kind } = names.of(call);
	return (
		<span class="tree-name" style={indent}>
			<button
				type="button"
				class="twist"
				tabIndex={-1}
				aria-hidden="true"
				disabled={!hasChildren}
				onClick={onPress}
			>
				{hasChildren ? (isOpen ? "\u25be" : "\u25b8") : ""}
			</button>
			<CallCell name={call ? name : "all"} place={names.place(call)} isOwn={call !== 0 && kind === 0} />
		</span>
	);
}
