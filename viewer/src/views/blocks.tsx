/* blocks.tsx - single blocks: when, where, how large, how long. */
import { formatBytes, formatCount, formatNs } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, session } from "../session.ts";
import { NotCompared, Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { CallCell } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { type Pages, usePages } from "../table/pages.ts";
import { StackList } from "../table/stack_list.tsx";

interface BlocksHead {
	rows: number;
	bytes: number;
}

const SORTS = ["size", "alloc", "free", "lifetime", "reallocs"];
const FLAGS = ["realloc", "resized", "temporary"];
const IN_CHAIN = 3; /* the bits of the first two */

export function BlocksView() {
	const { sort, ascending, call, sizes, chain } = state.value;
	const pages = usePages<BlocksHead>(
		globalRequest("blocks", {
			sort: SORTS.includes(sort) ? sort : "size",
			ascending,
			...(call ? { site: call } : {}),
			...(sizes ? { size_from: sizes.from, size_to: sizes.to - 1 } : {}),
			...(chain ? { chain } : {}),
		}),
		["site"],
	);

	return (
		<div class="table-view">
			<Chosen head={pages.reply?.head} />
			<NotCompared
				subject="Single blocks are"
				shown="these are the blocks"
				instead="Leaks, Sizes and Lifetimes show the changes."
			/>
			<Shown asked={pages}>{(reply) => <Blocks head={reply.head} pages={pages} />}</Shown>
		</div>
	);
}

/* The restrictions that only this view has. */
function Chosen({ head }: { head: BlocksHead | undefined }) {
	const { call, sizes, chain } = state.value;

	return (
		<div class="view-tools">
			{chain !== 0 && (
				<span class="chip" data-testid="chain">
					<span class="muted">reallocs of</span> block {formatCount(chain)}
					<button type="button" aria-label="Blocks of all chains" onClick={() => go({ chain: 0 })}>
						{"\u00d7"}
					</button>
				</span>
			)}
			{call !== 0 && (
				<span class="chip">
					<span class="muted">allocated by</span> <bdi>{session.value!.names.of(call).name}</bdi>
					<button type="button" aria-label="Blocks of all functions" onClick={() => go({ call: 0 })}>
						{"\u00d7"}
					</button>
				</span>
			)}
			{sizes && (
				<span class="chip">
					<span class="muted">size</span> {formatBytes(sizes.from)} to {formatBytes(sizes.to - 1)}
					<button type="button" aria-label="Blocks of all sizes" onClick={() => go({ sizes: undefined })}>
						{"\u00d7"}
					</button>
				</span>
			)}
			{head && (
				<span class="muted">
					{formatCount(head.rows)} blocks, {formatBytes(head.bytes)}
				</span>
			)}
		</div>
	);
}

function Blocks({ head, pages }: { head: BlocksHead; pages: Pages<BlocksHead> }) {
	const { sort, ascending, row } = state.value;
	const current = Math.min(row, head.rows - 1);
	const found = pages.find(current);
	const stack = found?.reply.u32("stack")[found.at] ?? 0;
	const chain =
		found && found.reply.u8("flags")[found.at]! & IN_CHAIN ? found.reply.f64("chain")[found.at]! : 0;

	if (head.rows === 0) return <Nothing text="No blocks to show." />;
	return (
		<div class="with-stack">
			<Grid
				label="Blocks"
				testId="blocks"
				columns={columnsOf(pages)}
				rows={head.rows}
				sort={SORTS.includes(sort) ? sort : "size"}
				isAscending={ascending}
				onSort={(next) => go({ sort: next, ascending: next === sort ? !ascending : false })}
				onRange={pages.need}
				startRow={current}
				onSelect={(next) => go({ row: next }, { replace: true })}
				onOpen={() => chain && showChain(chain)}
			/>
			<StackList stack={stack} title="Allocated by">
				{chain !== 0 && !state.value.chain && (
					<button type="button" class="tool" title="Enter" onClick={() => showChain(chain)}>
						Show its reallocs
					</button>
				)}
			</StackList>
		</div>
	);
}

/* One block from its malloc to its free, in the order of the reallocs, whatever the view is restricted to. */
const showChain = (chain: number) =>
	go({ chain, sort: "alloc", ascending: true, call: 0, sizes: undefined, filters: [] });

function columnsOf(pages: Pages<BlocksHead>): Column[] {
	const names = session.value!.names;
	const threads = session.value!.open.threads ?? [];
	const get = <T,>(row: number, read: (reply: Reply<BlocksHead>, at: number) => T): T | undefined => {
		const found = pages.find(row);
		return found && read(found.reply, found.at);
	};
	const number = (name: string, row: number) => get(row, (reply, at) => reply.f64(name)[at]) ?? 0;
	const thread = (name: string, row: number) => {
		const index = get(row, (reply, at) => reply.u32(name)[at]) ?? 0;
		return index ? threads[index - 1]?.name || String(threads[index - 1]?.id ?? index) : "-";
	};
	const moment = (ns: number) => (ns < 0 ? "never" : formatNs(ns));

	return [
		{
			key: "size",
			title: "Size",
			width: "5.2rem",
			isNumber: true,
			sort: "size",
			cell: (row) => formatBytes(number("size", row)),
		},
		{
			key: "site",
			title: "Site",
			width: "minmax(8rem, 1fr)",
			cell: (row) => {
				const call = get(row, (reply, at) => reply.u32("site")[at]) ?? 0;
				const { name, file, kind } = names.of(call);
				const place = get(row, (reply, at) => reply.texts("place").at(at));
				return <CallCell name={name} place={place} path={file} isOwn={kind === 0} />;
			},
		},
		{
			key: "alloc",
			title: "Allocated",
			width: "5.2rem",
			isNumber: true,
			sort: "alloc",
			isOptional: true,
			cell: (row) => moment(number("alloc_ns", row)),
		},
		{
			key: "free",
			title: "Freed",
			width: "5.2rem",
			isNumber: true,
			sort: "free",
			isOptional: true,
			leastWidth: 900,
			cell: (row) => moment(number("free_ns", row)),
		},
		{
			key: "life",
			title: "Lifetime",
			width: "5.2rem",
			isNumber: true,
			sort: "lifetime",
			cell: (row) =>
				number("free_ns", row) < 0 ? <span class="muted">live</span> : formatNs(number("lifetime_ns", row)),
		},
		{
			key: "threads",
			title: "Threads",
			hint: "Allocating and freeing thread",
			width: "8.5rem",
			isOptional: true,
			leastWidth: 640,
			cell: (row) => {
				const [maker, freer] = [thread("alloc_thread", row), thread("free_thread", row)];
				return (
					<span class="muted">{freer === "-" || maker === freer ? maker : `${maker} \u2192 ${freer}`}</span>
				);
			},
		},
		{
			key: "reallocs",
			title: "Reallocs",
			hint: "How many reallocs led to this block",
			width: "4.6rem",
			isNumber: true,
			sort: "reallocs",
			leastWidth: 560,
			isOptional: true,
			cell: (row) => {
				const count = get(row, (reply, at) => reply.u32("reallocs")[at]) ?? 0;
				return count > 0 ? formatCount(count) : "";
			},
		},
		{
			key: "flags",
			title: "Notes",
			hint: "realloc: made by realloc; resized: ended by realloc; temporary: freed before the next allocation",
			width: "6.5rem",
			leastWidth: 760,
			isOptional: true,
			cell: (row) => {
				const flags = get(row, (reply, at) => reply.u8("flags")[at]) ?? 0;
				return <span class="muted">{FLAGS.filter((_, bit) => flags & (1 << bit)).join(", ")}</span>;
			},
		},
	];
}
