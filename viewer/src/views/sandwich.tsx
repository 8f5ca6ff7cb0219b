/* sandwich.tsx - one function with its callers above and its callees below. */
import { useMemo } from "preact/hooks";
import { FlameGraph } from "../flame/flame_graph.tsx";
import { layoutTree } from "../flame/layout.ts";
import { formatShare, formatValue } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, metric, session } from "../session.ts";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { Bar, CallCell, Change, Share } from "../table/cells.tsx";
import { changeColumns } from "../table/change_columns.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { useAsk } from "../use_ask.ts";
import { colourMembers, LEAST_SHARE, type TreeHead } from "./flame.tsx";

interface PeekHead {
	self: number;
	total: number;
	before_self?: number;
	before_total?: number;
}

export function SandwichView() {
	return state.value.call ? <Sandwich call={state.value.call} /> : <Pick />;
}

/* No function is selected: the largest ones to choose from. */
function Pick() {
	const name = metric.value.name;
	const asked = useAsk<{ rows: number; sum: number[] }>(
		globalRequest("table", { by: "function", metrics: [name], sort: "total", most: 200 }),
		["call"],
	);

	return (
		<div class="table-view">
			<p class="view-tools muted">Choose a function to see its callers and callees.</p>
			<Shown asked={asked}>
				{(reply) => (
					<CallGrid
						label="Functions"
						calls={reply.u32("call")}
						totals={reply.f64(`total.${name}`)}
						befores={reply.has(`before.total.${name}`) ? reply.f64(`before.total.${name}`) : undefined}
						whole={reply.head.sum[0] ?? 0}
					/>
				)}
			</Shown>
		</div>
	);
}

function CallGrid(props: {
	label: string;
	calls: ArrayLike<number>;
	totals: ArrayLike<number>;
	befores: ArrayLike<number> | undefined; // of the base
	whole: number;
}) {
	const names = session.value!.names;
	const { unit } = metric.value;
	const call = (row: number) => props.calls[row] ?? 0;
	const columns: Column[] = [
		{
			key: "call",
			title: props.label,
			width: "minmax(8rem, 1fr)",
			cell: (row) => (
				<CallCell
					name={names.of(call(row)).name}
					place={names.place(call(row))}
					isOwn={names.of(call(row)).kind === 0}
				/>
			),
		},
		{
			key: "total",
			title: "Total",
			width: "minmax(7.4rem, 0.3fr)",
			isNumber: true,
			cell: (row) => <Bar value={props.totals[row] ?? 0} whole={props.whole} unit={unit} />,
		},
		...(props.befores
			? changeColumns({
					key: "total",
					unit,
					after: (row) => props.totals[row] ?? 0,
					before: (row) => props.befores?.[row] ?? 0,
				})
			: []),
		{
			key: "share",
			title: "Share",
			width: "4rem",
			isNumber: true,
			cell: (row) => <Share value={props.totals[row] ?? 0} whole={props.whole} />,
		},
	];
	const open = (row: number) => call(row) && go({ view: "sandwich", call: call(row) });

	return (
		<Grid
			label={props.label}
			testId={props.label.toLowerCase()}
			columns={columns}
			rows={props.calls.length}
			onOpen={open}
			empty={<span class="muted">None.</span>}
		/>
	);
}

function Sandwich({ call }: { call: number }) {
	const asked = useAsk<PeekHead>(globalRequest("peek", { call }), ["call"]);
	const names = session.value!.names;
	const { unit } = metric.value;

	return (
		<Shown asked={asked}>
			{(reply) => (
				<div class="sandwich">
					<div class="sandwich-flames">
						<Half call={call} invert />
						<div class="sandwich-middle" data-testid="middle">
							<button type="button" class="tool" onClick={() => go({ call: 0 })}>
								All functions
							</button>
							<bdi class="own">{names.of(call).full}</bdi>
							<span class="place">{names.place(call)}</span>
							<span class="muted">
								{formatValue(reply.head.total, unit)} with callees, {formatValue(reply.head.self, unit)} own
							</span>
							{reply.head.before_total !== undefined && (
								<span class="muted">
									was {formatValue(reply.head.before_total, unit)} with callees,{" "}
									{formatValue(reply.head.before_self ?? 0, unit)} own (
									<Change after={reply.head.total} before={reply.head.before_total} unit={unit} />)
								</span>
							)}
						</div>
						<Half call={call} invert={false} />
					</div>
					<Neighbours reply={reply} />
				</div>
			)}
		</Shown>
	);
}

/* Direct callers and callees. */
function Neighbours({ reply }: { reply: Reply<PeekHead> }) {
	const isCallee = reply.u8("is_callee");
	const rows = [...isCallee.keys()];
	const part = (wanted: number) => rows.filter((row) => isCallee[row] === wanted);
	const grid = (label: string, chosen: number[]) => (
		<CallGrid
			label={label}
			calls={chosen.map((row) => reply.u32("call")[row]!)}
			totals={chosen.map((row) => reply.f64("total")[row]!)}
			befores={reply.has("before_total") ? chosen.map((row) => reply.f64("before_total")[row]!) : undefined}
			whole={reply.head.total}
		/>
	);

	return (
		<div class="sandwich-lists">
			{grid("Callers", part(0))}
			{grid("Callees", part(1))}
		</div>
	);
}

/* Callers grow upward from the function, callees downward. */
function Half({ call, invert }: { call: number; invert: boolean }) {
	const asked = useAsk<TreeHead>(
		globalRequest("tree", { pivot: call, invert, least: LEAST_SHARE * 4, ...colourMembers() }),
		["call"],
	);

	return (
		<div class={invert ? "half callers" : "half callees"}>
			<Shown asked={asked}>{(reply) => <HalfFlame reply={reply} call={call} invert={invert} />}</Shown>
		</div>
	);
}

function HalfFlame({ reply, call, invert }: { reply: Reply<TreeHead>; call: number; invert: boolean }) {
	const tree = useMemo(() => layoutTree(reply), [reply]);
	const zoom = useMemo(() => [call], [call]);
	const whole = reply.head.whole;

	if (tree.count < 2) return <Nothing text="No stacks pass this function." />;
	return (
		<FlameGraph
			tree={tree}
			whole={whole}
			zoom={zoom}
			onZoom={(path) => go({ call: path.at(-1) ?? call })}
			search={state.value.search}
			isUpward={invert}
			colour={state.value.colour}
			label={`${invert ? "Callers" : "Callees"}, ${formatShare(tree.total[0]!, whole)} of all`}
			rootName="all"
			isBare
			testId={invert ? "callers-flame" : "callees-flame"}
		/>
	);
}
