/* generations.tsx - live memory by site, and by the segment between two marks in which it was allocated. */
import { exactly } from "../call_actions.ts";
import { formatBytes, formatNs, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { contents } from "../report.ts";
import { session } from "../session.ts";
import { NotCompared } from "../shell/shown.tsx";
import { addFilter, go, state } from "../state.ts";
import { allMarks, wholeRange } from "../strip/time_moves.ts";
import { CallCell } from "../table/cells.tsx";
import { isNarrow } from "../theme.ts";
import { useAsk } from "../use_ask.ts";
import { leaksRequest } from "./suppressions.tsx";

interface GenerationsHead {
	rows: number;
	marks_left_out: number;
}

const MOST = 12; /* sites; those that repeat come first */

export function Generations() {
	const marks = allMarks();
	const isThere = marks.length > 0 && !contents.value?.series;
	const { reply } = useAsk<GenerationsHead>(
		isThere
			? leaksRequest("generations", { marks: marks.map(({ ns }) => Math.round(ns)), most: MOST })
			: undefined,
		["site"],
	);

	if (!isThere || !reply || reply.f64("segment_from").length < 2 || reply.head.rows === 0) return null;
	return <Table reply={reply} />;
}

/* The first segment begins with the selection, the others with a mark. */
function titleOf(reply: Reply<GenerationsHead>, segment: number): string {
	const from = reply.f64("segment_from")[segment]!;
	const mark = segment > 0 ? allMarks().find(({ ns }) => Math.round(ns) === from) : undefined;

	return mark ? mark.name || formatNs(from) : segment === 0 && from === 0 ? "start" : formatNs(from);
}

function Table({ reply }: { reply: Reply<GenerationsHead> }) {
	const isRepeating = state.value.repeats;
	const count = reply.f64("segment_from").length;
	const segments = Array.from({ length: count }, (_, i) => i);
	const repeats = reply.u8("repeats");
	const rows = [...reply.u32("site").keys()].filter((row) => !isRepeating || repeats[row]);

	return (
		<details class="generations" data-testid="generations" open={!isNarrow.value}>
			<summary>
				Generations: what is live at the end, by the segment between marks that allocated it
				{reply.head.marks_left_out > 0 && `; the last ${count - 1} marks`}
			</summary>
			<NotCompared
				subject="Generations are"
				shown="these are the segments"
				instead="The table below shows the changes."
			/>
			<div class="generations-tools">
				<button
					type="button"
					class="tool"
					aria-pressed={isRepeating}
					onClick={() => go({ repeats: !isRepeating })}
				>
					Repeats in every generation
				</button>
				{reply.head.rows > MOST && (
					<span class="muted">
						the first {MOST} of {plural(reply.head.rows, "site")}
					</span>
				)}
			</div>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus */}
			<section class="scrolling" tabIndex={0} aria-label="Generations">
				<table>
					<thead>
						<tr>
							<th scope="col">Site</th>
							{segments.map((segment) => (
								<th scope="col" key={segment} class="number">
									<SegmentButton reply={reply} segment={segment} />
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map((row) => (
							<tr key={row} class={repeats[row] ? "repeats" : ""}>
								<th scope="row">
									<SiteButton reply={reply} row={row} />
								</th>
								{segments.map((segment) => (
									<Cell key={segment} reply={reply} at={row * count + segment} />
								))}
							</tr>
						))}
					</tbody>
				</table>
			</section>
		</details>
	);
}

/* Selects the segment. */
function SegmentButton({ reply, segment }: { reply: Reply<GenerationsHead>; segment: number }) {
	const [from, to] = [reply.f64("segment_from")[segment]!, reply.f64("segment_to")[segment]!];
	const bytes = formatBytes(reply.f64("segment_bytes")[segment]!);

	return (
		<button
			type="button"
			class="link"
			title={`${formatNs(from)} to ${formatNs(to)}: ${bytes} live; select it`}
			onClick={() => go({ time: { from, to: Math.min(to, wholeRange().to) } })}
		>
			{titleOf(reply, segment)}
		</button>
	);
}

/* Filters by the site. */
function SiteButton({ reply, row }: { reply: Reply<GenerationsHead>; row: number }) {
	const call = reply.u32("site")[row]!;
	const { name, kind } = session.value!.names.of(call);
	const filter = `focus:${exactly(call)}`;

	return (
		<button
			type="button"
			class="link"
			title="Only stacks with it"
			disabled={call === 0 || state.value.filters.includes(filter)}
			onClick={() => addFilter(filter)}
		>
			<CallCell name={name} place={reply.texts("place").at(row)} isOwn={kind === 0} />
			{reply.u8("repeats")[row] === 1 && <span class="grew">repeats in every generation</span>}
		</button>
	);
}

function Cell({ reply, at }: { reply: Reply<GenerationsHead>; at: number }) {
	const [bytes, blocks] = [reply.f64("bytes")[at]!, reply.f64("blocks")[at]!];

	return (
		<td class="number" title={plural(blocks, "block")}>
			{blocks > 0 ? formatBytes(bytes) : <span class="muted">-</span>}
		</td>
	);
}
