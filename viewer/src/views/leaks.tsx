/* leaks.tsx - memory that is live at the end of the selected time, by stack: growing, from the start, or later. */
import { useState } from "preact/hooks";
import { callMenu } from "../call_actions.ts";
import { formatBytes, formatNs, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, session } from "../session.ts";
import { openMenu } from "../shell/menu.tsx";
import { Nothing, Shown } from "../shell/shown.tsx";
import { go } from "../state.ts";
import { allMarks, sinceMark } from "../strip/time_moves.ts";
import { Bar, CallCell } from "../table/cells.tsx";
import { type Column, Grid } from "../table/grid.tsx";
import { StackList } from "../table/stack_list.tsx";
import { useAsk } from "../use_ask.ts";

interface LeaksHead {
	rows: number;
	bytes: number;
	blocks: number;
}

const KINDS = ["start", "growing", "later", "runtime", "unknown"] as const;
const MOST = 1000;

const MEANINGS: Record<string, string> = {
	start: "allocated in the first tenth, and never again",
	growing: "allocated throughout the run: a leak",
	later: "allocated during a part of the run",
	runtime: "allocated once by the C or C++ library when the program starts",
	unknown: "the file has no times",
};

export function LeaksView() {
	const [kind, setKind] = useState("");
	const asked = useAsk<LeaksHead>(
		globalRequest("leaks", { most: MOST, ...(kind ? { kinds: [kind] } : {}) }),
		["site"],
	);

	return (
		<div class="table-view">
			<div class="view-tools">
				<div class="segments" role="group" aria-label="Kind">
					{["", "growing", "start", "later"].map((each) => (
						<button
							type="button"
							key={each}
							aria-pressed={kind === each}
							title={MEANINGS[each]}
							onClick={() => setKind(each)}
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
				{asked.reply && (
					<span class="muted" data-testid="leaks-sum">
						{formatBytes(asked.reply.head.bytes)} in {plural(asked.reply.head.blocks, "block")} never freed
					</span>
				)}
			</div>
			<Shown asked={asked}>{(reply) => <Leaks reply={reply} />}</Shown>
		</div>
	);
}

function Leaks({ reply }: { reply: Reply<LeaksHead> }) {
	const [current, setCurrent] = useState(0);
	const names = session.value!.names;
	const sites = reply.u32("site");
	const stack = reply.u32("stack")[current] ?? 0;

	if (sites.length === 0) return <Nothing text="Everything was freed." />;
	return (
		<div class="with-stack">
			<Grid
				label="Memory that was never freed"
				testId="leaks"
				columns={columnsOf(reply)}
				rows={sites.length}
				onSelect={(row) => {
					setCurrent(row);
					go({ call: sites[row] ?? 0 }, { replace: true });
				}}
				onOpen={(row) => go({ view: "sandwich", call: sites[row] ?? 0 })}
				onMenu={(row, x, y) =>
					openMenu({ x, y, title: names.of(sites[row] ?? 0).name, items: callMenu(sites[row] ?? 0) })
				}
			/>
			<StackList stack={stack} title="Allocated by" />
		</div>
	);
}

function columnsOf(reply: Reply<LeaksHead>): Column[] {
	const names = session.value!.names;
	const [sites, places, kinds] = [reply.u32("site"), reply.texts("place"), reply.u8("kind")];
	const number = (name: string, row: number) => reply.f64(name)[row] ?? 0;

	return [
		{
			key: "site",
			title: "Site",
			width: "minmax(9rem, 1fr)",
			cell: (row) => {
				const call = sites[row] ?? 0;
				return (
					<CallCell name={names.of(call).name} place={places.at(row)} isOwn={names.of(call).kind === 0} />
				);
			},
		},
		{
			key: "bytes",
			title: "Live bytes",
			width: "7rem",
			isNumber: true,
			cell: (row) => <Bar value={number("bytes", row)} whole={reply.head.bytes} unit="bytes" />,
		},
		{
			key: "blocks",
			title: "Blocks",
			width: "5.2rem",
			isNumber: true,
			isOptional: true,
			cell: (row) => <Bar value={number("blocks", row)} whole={0} unit="count" />,
		},
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
			title: "Births",
			hint: "Blocks by tenth of the run",
			width: "4.6rem",
			isOptional: true,
			cell: (row) => <Births counts={reply.f64("births").subarray(row * 10, row * 10 + 10)} />,
		},
		{
			key: "first",
			title: "First",
			width: "5.2rem",
			isNumber: true,
			isOptional: true,
			cell: (row) => <span class="muted">{formatNs(number("first_ns", row))}</span>,
		},
		{
			key: "last",
			title: "Last",
			width: "5.2rem",
			isNumber: true,
			isOptional: true,
			cell: (row) => <span class="muted">{formatNs(number("last_ns", row))}</span>,
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
