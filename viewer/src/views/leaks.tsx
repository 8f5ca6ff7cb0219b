/* leaks.tsx - memory that is live at the end of the selected time, by stack: growing, from the start, or later. */
import { callMenu, lineOf } from "../call_actions.ts";
import { formatBytes, formatChange, formatCount, formatNs, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { session } from "../session.ts";
import { type MenuItem, openMenu } from "../shell/menu.tsx";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go, state } from "../state.ts";
import { allMarks, hasTime, sinceMark } from "../strip/time_moves.ts";
import { Bar, CallCell } from "../table/cells.tsx";
import { changeColumns } from "../table/change_columns.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { StackList } from "../table/stack_list.tsx";
import { useAsk } from "../use_ask.ts";
import { Generations } from "./generations.tsx";
import { leaksRequest, Suppressions, suppress, suppressionOf } from "./suppressions.tsx";

interface LeaksHead {
	rows: number;
	bytes: number;
	blocks: number;
	before_bytes?: number;
}

const KINDS = ["start", "growing", "later", "runtime", "unknown"] as const;
const CHOICES = ["", "growing", "start", "later"];
const MOST = 1000;

const MEANINGS: Record<string, string> = {
	start: "allocated in the first tenth, and never again",
	growing: "allocated throughout the run: a leak",
	later: "allocated during a part of the run",
	runtime: "allocated once by the C or C++ library when the program starts",
	unknown: "the file has no times",
};

/* Only at the end of a program is live memory memory that was never freed. */
function when(): { text: string; nothing: string } {
	if (state.value.time)
		return {
			text: "live at the end of the selection",
			nothing: "Nothing is live at the end of the selection.",
		};
	if (session.value!.open.growing) return { text: "live now", nothing: "Nothing is live now." };
	return { text: "never freed", nothing: "Everything was freed." };
}

export function LeaksView() {
	const kind = CHOICES.includes(state.value.kind) ? state.value.kind : "";
	const asked = useAsk<LeaksHead>(leaksRequest("leaks", { most: MOST, ...(kind ? { kinds: [kind] } : {}) }), [
		"site",
	]);

	return (
		<div class="table-view">
			<div class="view-tools">
				<div class="segments" role="group" aria-label="Kind" hidden={!hasTime()}>
					{CHOICES.map((each) => (
						<button
							type="button"
							key={each}
							aria-pressed={kind === each}
							title={MEANINGS[each]}
							onClick={() => go({ kind: each })}
						>
							{each === "" ? "All" : each[0]!.toUpperCase() + each.slice(1)}
						</button>
					))}
				</div>
				{allMarks().length > 0 && (
					<button type="button" class="tool" title="G" onClick={sinceMark}>
						Since the last mark
					</button>
				)}
				<Suppressions reply={asked.reply} />
				{asked.reply && (
					<span class="muted" data-testid="leaks-sum">
						{formatBytes(asked.reply.head.bytes)} in {plural(asked.reply.head.blocks, "block")} {when().text}
						<Was head={asked.reply.head} />
					</span>
				)}
			</div>
			<Generations />
			<Shown asked={asked}>{(reply) => <Leaks reply={reply} />}</Shown>
		</div>
	);
}

/* "was 3.00 MiB, +1.20 MiB" against a base. */
function Was({ head }: { head: LeaksHead }) {
	const before = head.before_bytes;

	if (before === undefined) return null;
	return (
		<>
			, was {formatBytes(before)} ({formatChange(head.bytes - before, "bytes")})
		</>
	);
}

function Leaks({ reply }: { reply: Reply<LeaksHead> }) {
	const names = session.value!.names;
	const sites = reply.u32("site");
	const current = Math.min(state.value.row, sites.length - 1);
	const stack = reply.u32("stack")[current] ?? 0;

	if (sites.length === 0) return <Nothing text={when().nothing} />;
	return (
		<div class="with-stack">
			<Grid
				label={`Memory that was ${when().text}`}
				testId="leaks"
				columns={columnsOf(reply)}
				rows={sites.length}
				startRow={current}
				onSelect={(row) => {
					const line = lineOf(reply.texts("place").at(row));
					go({ row, call: sites[row] ?? 0, line }, { replace: true });
				}}
				onOpen={(row) => go({ view: "sandwich", call: sites[row] ?? 0 })}
				onMenu={(row, x, y) =>
					openMenu({ x, y, title: names.of(sites[row] ?? 0).name, items: leakMenu(sites[row] ?? 0) })
				}
			/>
			<StackList stack={stack} title="Allocated by" request={leaksRequest("stack", { stack })} />
		</div>
	);
}

function leakMenu(call: number): MenuItem[] {
	const pattern = suppressionOf(call);
	const item = { label: "Suppress: hide leaks with it", run: () => suppress(pattern) };

	return [...callMenu(call), ...(pattern ? [{ ...item, isFirst: true }] : [])];
}

/* "1.2 KiB/s" */
const growthOf = (bytes: number): string => (bytes >= 0.5 ? `${formatBytes(Math.round(bytes))}/s` : "");

function columnsOf(reply: Reply<LeaksHead>): Column[] {
	const names = session.value!.names;
	const [sites, places] = [reply.u32("site"), reply.texts("place")];
	const number = (name: string, row: number) => reply.f64(name)[row] ?? 0;
	const changes = reply.has("before_bytes")
		? changeColumns({
				key: "bytes",
				unit: "bytes",
				after: (row) => number("bytes", row),
				before: (row) => number("before_bytes", row),
			})
		: [];

	return [
		{
			key: "site",
			title: "Site",
			width: "minmax(9rem, 1fr)",
			cell: (row) => {
				const { name, file, kind } = names.of(sites[row] ?? 0);
				return <CallCell name={name} place={places.at(row)} path={file} isOwn={kind === 0} />;
			},
		},
		{
			key: "bytes",
			title: "Live bytes",
			width: "minmax(6.4rem, 0.3fr)",
			isNumber: true,
			cell: (row) => <Bar value={number("bytes", row)} whole={reply.head.bytes} unit="bytes" />,
		},
		...changes,
		{
			key: "blocks",
			title: "Blocks",
			width: "4.4rem",
			isNumber: true,
			isOptional: true,
			cell: (row) => formatCount(number("blocks", row)),
		},
		...(hasTime() ? timeColumns(reply, changes.length > 0) : []),
	];
}

/* When the blocks were allocated, of a file that knows it. */
function timeColumns(reply: Reply<LeaksHead>, isCompared: boolean): Column[] {
	const kinds = reply.u8("kind");
	const number = (name: string, row: number) => reply.f64(name)[row] ?? 0;
	const moment = (name: string, row: number) =>
		number(name, row) < 0 ? "\u2013" : formatNs(number(name, row));

	return [
		{
			key: "kind",
			title: "Kind",
			width: "4.6rem",
			cell: (row) => {
				const kind = KINDS[kinds[row] ?? 3] ?? "unknown";
				return (
					<span class={`kind ${kind}`} title={MEANINGS[kind]}>
						{kind}
					</span>
				);
			},
		},
		{
			key: "births",
			title: "When",
			hint: "When the blocks were allocated, by tenth of the run",
			width: "4.6rem",
			isOptional: true,
			leastWidth: isCompared ? 900 : 0,
			cell: (row) => <Births counts={reply.f64("births").subarray(row * 10, row * 10 + 10)} />,
		},
		{
			key: "growth",
			title: "Growth",
			hint: "Slope of these allocations: bytes that are never freed, per second",
			width: "5.8rem",
			isNumber: true,
			isOptional: true,
			leastWidth: isCompared ? 1000 : 0,
			cell: (row) => (KINDS[kinds[row] ?? 3] === "growing" ? growthOf(number("growth", row)) : ""),
		},
		{
			key: "first",
			title: "First",
			width: "5.2rem",
			isNumber: true,
			isOptional: true,
			leastWidth: 1200,
			cell: (row) => <span class="muted">{moment("first_ns", row)}</span>,
		},
		{
			key: "last",
			title: "Last",
			width: "5.2rem",
			isNumber: true,
			isOptional: true,
			leastWidth: 1200,
			cell: (row) => <span class="muted">{moment("last_ns", row)}</span>,
		},
	];
}

/* Ten bars: when the blocks were allocated. */
function Births({ counts }: { counts: Float64Array }) {
	const most = Math.max(1, ...counts);

	return (
		<svg
			class="births"
			viewBox="0 0 60 16"
			role="img"
			aria-label={`Blocks by tenth: ${[...counts].join(", ")}`}
		>
			{[...counts].map((count, i) => {
				const height = count > 0 ? Math.max(1, (15 * count) / most) : 0;
				return <rect key={i} x={i * 6} y={16 - height} width={5} height={height} />;
			})}
		</svg>
	);
}
