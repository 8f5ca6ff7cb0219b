/* dhat_tree.tsx - program points as DHAT's viewer shows them: 14 sort orders, and what is significant by them. */
import { useMemo, useState } from "preact/hooks";
import { callMenu } from "../call_actions.ts";
import { formatCount, formatNs, formatShare, formatValue, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { contents } from "../report.ts";
import { globalRequest, session } from "../session.ts";
import { cursorDetails } from "../shell/details.tsx";
import { openMenu } from "../shell/menu.tsx";
import { NotCompared, Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar, CallCell } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { useAsk } from "../use_ask.ts";
import { AccessStrip, accessRuns, accessText } from "./access_strip.tsx";

interface Field {
	name: string;
	title: string;
	unit: string;
}

interface DhatHead {
	preset: string;
	key: string;
	min_percent: number;
	matches: number;
	fields: Field[];
}

export const PRESET_TITLES: Record<string, string> = {
	"total-bytes": "Total (bytes)",
	"total-blocks": "Total (blocks)",
	tiny: "Total (blocks), tiny",
	"short-lived": "Total (blocks), short-lived",
	"unused-bytes": "Total (bytes), zero reads or zero writes",
	"unused-blocks": "Total (blocks), zero reads or zero writes",
	"low-access-bytes": "Total (bytes), low-access",
	"low-access-blocks": "Total (blocks), low-access",
	"peak-bytes": "At the peak (bytes)",
	"end-bytes": "At the end (bytes)",
	reads: "Reads (bytes)",
	"high-reads": "Reads (bytes), high-access",
	writes: "Writes (bytes)",
	"high-writes": "Writes (bytes), high-access",
};

/* Heads of columns; the hint is the engine's title. */
const FIELD_TITLES: Record<string, string> = {
	total_bytes: "Total bytes",
	total_blocks: "Total blocks",
	peak_bytes: "Peak bytes",
	peak_blocks: "Peak blocks",
	end_bytes: "End bytes",
	end_blocks: "End blocks",
	read_bytes: "Bytes read",
	write_bytes: "Bytes written",
};

const MATCHES = 1;

/* Percent of the whole below which points are merged; "" is the preset's own. */
const THRESHOLDS = ["", "0", "0.1", "0.5", "1", "5", "10"];

export function DhatTree() {
	const { preset, search, threshold, opened } = state.value;
	const asked = useAsk<DhatHead>(
		globalRequest("dhat", {
			preset,
			...(search ? { search } : {}),
			...(threshold === "" ? {} : { least: Number(threshold) / 100 }),
			...(opened.length > 0 ? { open: opened } : {}),
		}),
		["call"],
	);

	return (
		<>
			<NotCompared
				subject="Presets are"
				shown="these are the program points"
				instead="Top-down and Bottom-up show the changes."
			/>
			<Shown asked={asked}>{(reply) => <Points reply={reply} />}</Shown>
		</>
	);
}

export function DhatTools() {
	const { preset, threshold } = state.value;
	const presets = session.value!.open.presets ?? [];

	if (presets.length === 0 || contents.value?.series) return null;
	return (
		<>
			<label>
				<span class="muted">DHAT</span>{" "}
				<select
					value={preset}
					data-testid="preset"
					onChange={(event) => go({ preset: event.currentTarget.value, opened: [] })}
				>
					<option value="">no preset</option>
					{presets.map((name) => (
						<option key={name} value={name}>
							{PRESET_TITLES[name] ?? name}
						</option>
					))}
				</select>
			</label>
			{preset && (
				<label>
					<span class="muted">Significant from</span>{" "}
					<select
						value={threshold}
						data-testid="threshold"
						onChange={(event) => go({ threshold: event.currentTarget.value, opened: [] })}
					>
						{THRESHOLDS.map((percent) => (
							<option key={percent} value={percent}>
								{percent === "" ? "the preset's share" : `${percent} %`}
							</option>
						))}
					</select>
				</label>
			)}
		</>
	);
}

interface Node {
	row: number; // of the reply
	path: string; // "1.1.2"
	parent: number;
	end: number; // after its last descendant
}

/* Numbers of DHAT's viewer: 1.1.2 is the second child of 1.1. */
function linkNodes(reply: Reply<DhatHead>): Node[] {
	const [depth, number] = [reply.u32("depth"), reply.u32("number")];
	const nodes: Node[] = [];
	const way: number[] = [];

	for (let row = 0; row < depth.length; row++) {
		while (way.length > depth[row]!) nodes[way.pop()!]!.end = row;
		const parent = way.at(-1) ?? -1;
		nodes.push({
			row,
			parent,
			path: parent < 0 ? "1" : `${nodes[parent]!.path}.${number[row]}`,
			end: depth.length,
		});
		way.push(row);
	}
	return nodes;
}

/* With a search, only matches, the way to them, and what is below them. */
function shownRows(reply: Reply<DhatHead>, nodes: Node[], closed: Set<string>, isSearch: boolean): Node[] {
	const match = reply.u8("match");
	const rows: Node[] = [];
	let below = -1; // end of the match that the row is below

	for (let row = 0; row < nodes.length; row++) {
		const node = nodes[row]!;
		if (match[row]! & MATCHES && below < row) below = node.end;
		if (isSearch && match[row] === 0 && row >= below) continue;
		rows.push(node);
		if (closed.has(node.path)) row = node.end - 1;
	}
	return rows;
}

function Points({ reply }: { reply: Reply<DhatHead> }) {
	const isSearch = state.value.search !== "";
	const [closed, setClosed] = useState(new Set<string>());
	const nodes = useMemo(() => linkNodes(reply), [reply]);
	const rows = useMemo(() => shownRows(reply, nodes, closed, isSearch), [reply, closed, isSearch]);
	const merged = reply.u32("merged");
	const call = (node: Node | undefined) => reply.u32("call")[reply.u32("first_call")[node?.row ?? 0]!] ?? 0;
	const hasCalls = (node: Node | undefined) => reply.u32("calls")[node?.row ?? 0]! > 0;

	const toggle = (node: Node | undefined, isOpen: boolean) => {
		if (!node) return;
		const next = new Set(closed);
		if (isOpen) next.delete(node.path);
		else next.add(node.path);
		setClosed(next);
	};
	const press = (row: number) => {
		const node = rows[row];
		if (!node) return;
		if (merged[node.row]) openRemainder(reply, nodes[node.parent]!);
		else toggle(node, closed.has(node.path));
	};

	if (reply.f64("points")[0] === 0) return <Nothing text="No program points to show." />;
	return (
		<>
			<p class="muted dhat-about" data-testid="dhat-about">
				{PRESET_TITLES[reply.head.preset] ?? reply.head.preset}; a point is significant from{" "}
				{reply.head.min_percent}%{isSearch && `; ${plural(reply.head.matches, "node")} match the search`}.
			</p>
			<Grid
				label={`Program points by ${reply.head.preset}`}
				testId="dhat"
				role="treegrid"
				columns={columnsOf(reply, rows, closed, press)}
				rows={rows.length}
				isMarked={(row) => ((reply.u8("match")[rows[row]?.row ?? 0] ?? 0) & MATCHES) !== 0}
				onSelect={(row) => {
					if (hasCalls(rows[row])) select(reply, rows[row]!, call(rows[row]));
				}}
				onOpen={press}
				onMenu={(row, x, y) => {
					const number = hasCalls(rows[row]) ? call(rows[row]) : 0;
					if (number)
						openMenu({ x, y, title: session.value!.names.of(number).name, items: callMenu(number) });
				}}
				onKey={(key, row) => {
					const node = rows[row];
					if (key === "ArrowRight" && node && merged[node.row]) press(row);
					else if (key === "ArrowRight") toggle(node, true);
					else if (key === "ArrowLeft") toggle(node, false);
					else return false;
					return true;
				}}
				rowAttributes={(row) => {
					const node = rows[row]!;
					const isMerged = merged[node.row]! > 0;
					const hasChildren = isMerged || reply.u32("children")[node.row]! > 0;
					return {
						"aria-level": reply.u32("depth")[node.row]! + 1,
						...(hasChildren ? { "aria-expanded": !isMerged && !closed.has(node.path) } : {}),
					};
				}}
			/>
		</>
	);
}

/* The insignificant children of a node become rows; their own children open in the same way. */
function openRemainder(reply: Reply<DhatHead>, parent: Node): void {
	const place = [reply.u32("point")[parent.row]!, reply.u32("depth")[parent.row]!];

	go({ opened: [...state.peek().opened, ...place] });
}

/* Shows all calls of a node. */
function select(reply: Reply<DhatHead>, node: Node, call: number): void {
	const { names } = session.peek()!;
	const first = reply.u32("first_call")[node.row]!;
	const calls = reply.u32("call").subarray(first, first + reply.u32("calls")[node.row]!);

	const accesses = reply.has("runs") ? (accessRuns(reply)[node.row] ?? []) : [];

	go({ call }, { replace: true });
	cursorDetails.value = {
		title: [...calls].map((each) => names.of(each).name).join(" \u2190 "),
		place: names.place(call),
		parts: accesses.length > 0 ? [`accesses of bytes ${accessText(accesses)}`] : [],
	};
}

function columnsOf(
	reply: Reply<DhatHead>,
	rows: Node[],
	closed: Set<string>,
	press: (row: number) => void,
): Column[] {
	const { key, fields } = reply.head;
	const value = (name: string, row: number) => reply.f64(name)[rows[row]?.row ?? 0] ?? 0;
	const field = (name: string) => fields.find((each) => each.name === name);
	const titles = ({ name, title }: Field) => ({ title: FIELD_TITLES[name] ?? title, hint: title });
	const number = (each: Field): Column => ({
		...titles(each),
		key: each.name,
		width: "5.4rem",
		isNumber: true,
		isOptional: true,
		leastWidth: each.name.endsWith("blocks") ? 1300 : 700,
		cell: (row) => formatValue(value(each.name, row), each.unit),
	});
	const main = field(key)!;
	const columns: Column[] = [
		{
			key: "point",
			title: "Program point",
			width: "minmax(13rem, 1fr)",
			cell: (row) => (
				<PointCell
					reply={reply}
					node={rows[row]!}
					isOpen={!closed.has(rows[row]!.path)}
					onPress={() => press(row)}
				/>
			),
		},
		{
			...titles(main),
			key,
			width: "8.5rem",
			isNumber: true,
			cell: (row) => <Bar value={value(key, row)} whole={reply.f64(key)[0] ?? 0} unit={main.unit} />,
		},
		{
			key: "share",
			title: "Share",
			width: "4rem",
			isNumber: true,
			cell: (row) => <span class="muted">{formatShare(value(key, row), reply.f64(key)[0] ?? 0)}</span>,
		},
	];

	if (reply.has("runs")) {
		const runs = accessRuns(reply);
		columns.push({
			key: "accesses",
			title: "Accesses by byte",
			hint: "Of points whose blocks have one size: from the first byte to the last, darker for more; empty: never",
			width: "9rem",
			isOptional: true,
			cell: (row) => <AccessStrip runs={runs[rows[row]?.row ?? 0] ?? []} />,
		});
	}
	for (const each of fields) if (each.name !== key && each.name !== "lifetime") columns.push(number(each));
	return [...columns, ...averages(fields, value)];
}

/* Bytes per block, lifetime per block, reads and writes per byte. */
function averages(fields: Field[], value: (name: string, row: number) => number): Column[] {
	const has = (name: string) => fields.some((each) => each.name === name);
	const ratio = (
		name: string,
		part: string,
		whole: string,
		title: string,
		show: (value: number) => string,
	): Column[] =>
		has(part) && has(whole)
			? [
					{
						key: name,
						title,
						width: "6rem",
						isNumber: true,
						isOptional: true,
						leastWidth: 1400,
						cell: (row) => (
							<span class="muted">
								{value(whole, row) > 0 ? show(value(part, row) / value(whole, row)) : ""}
							</span>
						),
					},
				]
			: [];
	const factor = (times: number) => `${times.toFixed(2)}/B`;

	return [
		...ratio("size", "total_bytes", "total_blocks", "Avg size", (bytes) => formatValue(bytes, "bytes")),
		...ratio("life", "lifetime", "total_blocks", "Avg lifetime", (time) =>
			fields.find(({ name }) => name === "lifetime")?.unit === "ns" ? formatNs(time) : formatCount(time),
		),
		...ratio("reads", "read_bytes", "total_bytes", "Reads", factor),
		...ratio("writes", "write_bytes", "total_bytes", "Writes", factor),
	];
}

const INDENT = 14; /* pixels per level */
const DEEPEST_INDENT = 30; /* levels */

interface PointCellProps {
	reply: Reply<DhatHead>;
	node: Node;
	isOpen: boolean;
	onPress: () => void;
}

function PointCell({ reply, node, isOpen, onPress }: PointCellProps) {
	const { names } = session.value!;
	const depth = reply.u32("depth")[node.row]!;
	const merged = reply.u32("merged")[node.row]!;
	const count = reply.u32("calls")[node.row]!;
	const first = reply.u32("first_call")[node.row]!;
	const call = count > 0 ? reply.u32("call")[first]! : 0;
	const hasChildren = reply.u32("children")[node.row]! > 0;
	const indent = { paddingLeft: `min(${Math.min(depth, DEEPEST_INDENT) * INDENT}px, 40%)` };

	if (merged > 0)
		return (
			<span class="tree-name" style={indent}>
				<button type="button" class="link" tabIndex={-1} onClick={onPress}>
					+ {formatCount(merged)} insignificant
				</button>
			</span>
		);
	const { name, kind } = names.of(call);
	const shown = call ? name : depth === 0 ? "all" : "ends here";
	const isSignificant = reply.u8("significant")[node.row] === 1;
	return (
		<span class={`tree-name${isSignificant ? "" : " insignificant"}`} style={indent}>
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
			<span class="muted">{node.path}</span>
			<CallCell name={shown} place={names.place(call)} isOwn={call !== 0 && kind === 0} />
			{count > 1 && <span class="place">+ {plural(count - 1, "caller")}</span>}
		</span>
	);
}
