/* overview.tsx - the first screen: who holds memory, in sentences with numbers, and findings. */
import type { ComponentChildren } from "preact";
import type { Amount, Metric } from "../engine.ts";
import { formatBytes, formatCount, formatNs, formatShare, formatValue, plural } from "../format.ts";
import { globalRequest, session } from "../session.ts";
import { go, linkTo } from "../state.ts";
import { goToEnd, goToPeak } from "../strip/time_moves.ts";
import { Bar } from "../table/cells.tsx";
import { useAsk } from "../use_ask.ts";
import { Findings } from "./findings.tsx";

export function Overview() {
	return (
		<div class="overview" data-testid="overview">
			<Figures />
			<Findings />
			<div class="overview-columns">
				<Holders name="peak_bytes" title="Who holds memory at the peak" onShow={() => void goToPeak()} />
				<Holders name="end_bytes" title="Who holds memory at the end" onShow={goToEnd} />
				<Holders name="alloc_bytes" title="Who allocates most" />
			</div>
			<Coverage />
			<Quality />
		</div>
	);
}

function Figure({ title, value, note }: { title: string; value: string; note?: ComponentChildren }) {
	return (
		<div class="figure">
			<dt>{title}</dt>
			<dd>
				<strong>{value}</strong>
				{note && <span class="muted">{note}</span>}
			</dd>
		</div>
	);
}

const blocksOf = (amount: Amount) => plural(amount.blocks, "block");

function Figures() {
	const { peak, end, allocated, duration_ns, threads } = session.value!.open;
	const rate = allocated && duration_ns ? (1e9 * allocated.blocks) / duration_ns : 0;

	return (
		<dl class="figures">
			{peak && (
				<Figure
					title="Peak"
					value={formatBytes(peak.bytes)}
					note={`${blocksOf(peak)}, at ${formatNs(peak.ns)}`}
				/>
			)}
			{end && <Figure title="Live at the end" value={formatBytes(end.bytes)} note={blocksOf(end)} />}
			{allocated && (
				<Figure title="Allocated in all" value={formatBytes(allocated.bytes)} note={blocksOf(allocated)} />
			)}
			{peak && allocated && peak.bytes > 0 && (
				<Figure
					title="Churn"
					value={`${(allocated.bytes / peak.bytes).toFixed(1)}\u00d7`}
					note="allocated per byte of the peak"
				/>
			)}
			{duration_ns !== undefined && (
				<Figure
					title="Duration"
					value={formatNs(duration_ns)}
					note={`${formatCount(rate)} allocations/s, ${plural(threads?.length ?? 1, "thread")}`}
				/>
			)}
		</dl>
	);
}

const MOST_ROWS = 7;

/* A sentence and the largest functions of a metric. */
function Holders({ name, title, onShow }: { name: string; title: string; onShow?: () => void }) {
	const metric = session.value!.open.metrics.find((each) => each.name === name);
	const asked = useAsk<{ rows: number; sum: number[] }>(
		metric && globalRequest("table", { by: "function", metric: name, metrics: [name], most: MOST_ROWS }),
		["call"],
	);
	const { reply } = asked;

	if (!metric) return null;
	const sum = reply?.head.sum[0] ?? 0;
	const values = [...(reply?.f64(`self.${name}`) ?? [])].filter((value) => value > 0);
	const calls = reply?.u32("call");

	return (
		<section class="holders" data-testid={`holders-${name}`}>
			<header>
				<h2>{title}</h2>
				{onShow && (
					<button
						type="button"
						class="link"
						onClick={() => {
							go({ view: "flame", metric: name, zoom: [] });
							onShow();
						}}
					>
						Flame graph
					</button>
				)}
			</header>
			<p>{reply && <Sentence metric={metric} values={values} sum={sum} names={reply.texts("name")} />}</p>
			<ol>
				{values.map((value, i) => (
					<li key={reply!.texts("name").at(i) + i}>
						<a href={linkTo({ view: "sandwich", call: calls?.[i] ?? 0, metric: name })}>
							<bdi>{reply!.texts("name").at(i)}</bdi>
							<span class="place">{reply!.texts("place").at(i)}</span>
						</a>
						<Bar value={value} whole={sum} unit={metric.unit} />
						<span class="number muted">{formatShare(value, sum)}</span>
					</li>
				))}
			</ol>
		</section>
	);
}

interface SentenceProps {
	metric: Metric;
	values: number[];
	sum: number;
	names: { at(index: number): string };
}

function Sentence({ metric, values, sum, names }: SentenceProps) {
	const largest = values[0] ?? 0;
	const together = values.slice(0, 3).reduce((a, b) => a + b, 0);

	if (sum === 0) return <>Nothing: 0 {metric.unit === "bytes" ? "bytes" : "blocks"}.</>;
	return (
		<>
			<bdi class="own">{names.at(0)}</bdi> accounts for {formatShare(largest, sum)} of{" "}
			{formatValue(sum, metric.unit)}
			{values.length >= 3 && `; the three largest functions for ${formatShare(together, sum)}`}.
		</>
	);
}

/* How much of the resident memory the heap explains. */
function Coverage() {
	const { coverage } = session.value!.open;
	if (!coverage || coverage.resident_bytes === 0) return null;
	const { resident_bytes: resident, heap_bytes: heap } = coverage;

	return (
		<section class="coverage" data-testid="coverage">
			<h2>Resident memory</h2>
			<p>
				The heap holds {formatBytes(heap)} of {formatBytes(resident)} resident memory at its highest point (
				{formatShare(heap, resident)}).{" "}
				{heap < resident &&
					`${formatBytes(resident - heap)} is code, stacks, allocator overhead or free memory.`}
			</p>
			<Bar value={heap} whole={resident} unit="bytes" />
		</section>
	);
}

function Quality() {
	const { notes, lacks, file, program, events } = session.value!.open;
	const isWorth = (name: string) => ["time", "names", "lines", "lifetimes"].includes(name);

	return (
		<section class="quality">
			<h2>Recording</h2>
			<ul>
				<li>
					{file.format ? `Format ${file.format}` : "Comparison"}
					{events !== undefined && `, ${formatCount(events)} events`}
					{program?.command && (
						<>
							, command <code>{program.command}</code>
						</>
					)}
				</li>
				{notes.map(({ count, text }) => (
					<li key={text}>
						{text} {count > 1 && `(${formatCount(count)} times)`}
					</li>
				))}
				{lacks
					.filter(({ name }) => isWorth(name))
					.map(({ data, needs }) => (
						<li key={data}>
							No {data}: <code>{needs}</code> provides it
						</li>
					))}
			</ul>
		</section>
	);
}
