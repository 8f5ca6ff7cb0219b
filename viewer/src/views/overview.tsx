/* overview.tsx - the first screen: who holds memory, in sentences with numbers, and findings. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Amount, Metric } from "../engine.ts";
import {
	formatBytes,
	formatCount,
	formatMoment,
	formatNs,
	formatShare,
	formatValue,
	plural,
} from "../format.ts";
import { contents } from "../report.ts";
import { globalRequest, session } from "../session.ts";
import { go, linkTo, state } from "../state.ts";
import { goToEnd, goToPeak } from "../strip/time_moves.ts";
import { Change, Factor } from "../table/cells.tsx";
import { useAsk } from "../use_ask.ts";
import { Findings } from "./findings.tsx";
import { HistoryChart } from "./history_chart.tsx";

export function Overview() {
	const box = useRef<HTMLDivElement>(null);

	/* Page Down and the arrow keys scroll from the start. */
	useEffect(() => {
		if (document.activeElement === document.body) box.current?.focus({ preventScroll: true });
	}, []);
	return (
		<div class="overview" data-testid="overview" ref={box} tabIndex={-1}>
			{isPart() || !session.value!.open.peak ? <PartFigures /> : <Figures />}
			<Findings about={isPart() ? <WholeRun /> : null} />
			<HistoryChart />
			<div class="overview-columns">
				<Holders
					name="peak_bytes"
					title={`Who holds memory at the peak${sinceExact()}`}
					onShow={() => void goToPeak()}
				/>
				<Holders name="end_bytes" title="Who holds memory at the end" onShow={goToEnd} />
				<Holders name="alloc_bytes" title={`Who allocates most${sinceExact()}`} />
			</div>
			<Coverage />
			<Quality />
			<ReportContents />
		</div>
	);
}

/* " since 4.36 s", the time from which on a bounded recording has all events. */
function sinceExact(): string {
	const { exact_ns, duration_ns } = session.value!.open;

	return exact_ns && !state.value.time ? ` since ${formatMoment(exact_ns, (duration_ns ?? 0) / 1000)}` : "";
}

interface FigureProps {
	title: string;
	value: string;
	note?: ComponentChildren;
	was?: ComponentChildren;
}

function Figure({ title, value, note, was }: FigureProps) {
	return (
		<div class="figure">
			<dt>{title}</dt>
			<dd>
				<strong>{value}</strong>
				{was}
				{note && <span class="muted">{note}</span>}
			</dd>
		</div>
	);
}

const blocksOf = (amount: Amount) => plural(amount.blocks, "block");

/* Memory that is left over leads to the sites that did not free it. */
const leftOver = (amount: Amount): ComponentChildren =>
	amount.blocks === 0 ? (
		blocksOf(amount)
	) : (
		<>
			{blocksOf(amount)}: <a href={linkTo({ view: "leaks" })}>show leaks</a>
		</>
	);

/* "was 3.00 MiB" and the change, against the old one of two recordings. */
function Was({ after, before, unit }: { after: number; before: number | undefined; unit: string }) {
	if (before === undefined) return null;
	return (
		<span class="was">
			was {formatValue(before, unit)} <Change after={after} before={before} unit={unit} />{" "}
			<Factor after={after} before={before} />
		</span>
	);
}

/* A selection of time, filters or a base: figures about the whole run are marked as such. */
export const isPart = (): boolean => {
	const { time, filters, base } = state.value;
	return time !== undefined || filters.length > 0 || base !== undefined;
};

const PART_METRICS = ["peak_bytes", "peak_blocks", "end_bytes", "end_blocks", "alloc_bytes", "alloc_blocks"];

interface SumsHead {
	sum: number[];
	before_sum?: number[];
}

/* The length of the base: a range of the same file, or the other file of a comparison.  An instant has none. */
function lengthBefore(): number | undefined {
	const { time, base } = state.value;
	const length = base?.from === undefined ? undefined : base.to! - base.from;

	if (length !== undefined) return length > 1 ? length : undefined;
	return time ? undefined : session.value!.open.before?.duration_ns;
}

/* The same figures of the selection and its filters. */
function PartFigures() {
	const { open } = session.value!;
	const { time, base } = state.value;
	const metrics = PART_METRICS.filter((name) => open.metrics.some((each) => each.name === name));
	const { reply } = useAsk<SumsHead>(globalRequest("table", { metrics, most: 0 }));
	const amountIn = (sums: number[] | undefined, kind: string): Amount | undefined => {
		const [bytes, blocks] = ["bytes", "blocks"].map((unit) => metrics.indexOf(`${kind}_${unit}`));
		if (!sums || bytes === undefined || bytes < 0) return undefined;
		return { bytes: sums[bytes] ?? 0, blocks: sums[blocks ?? -1] ?? 0 };
	};
	const both = (kind: string) => ({
		now: amountIn(reply?.head.sum, kind),
		before: amountIn(reply?.head.before_sum, kind),
	});
	const [peak, end, allocated] = [both("peak"), both("end"), both("alloc")];
	const length = time ? time.to - time.from : open.duration_ns;

	return (
		<>
			{isPart() && (
				<p class="muted overview-scope" data-testid="overview-scope">
					The figures are those of the selected time and filters{base && ", with the change from the base"}.
				</p>
			)}
			<dl class="figures" data-testid="figures">
				<PartFigure title="Peak" {...peak} />
				<PartFigure
					title={time ? "Live at the end of the selection" : "Live at the end"}
					{...end}
					noteOf={leftOver}
				/>
				<PartFigure title="Allocated" {...allocated} />
				{peak.now && allocated.now && (
					<Churn allocated={allocated.now} peak={peak.now} was={churnBefore(allocated.before, peak.before)} />
				)}
				{length !== undefined && allocated.now && (
					<Figure
						title="Duration"
						value={formatNs(length)}
						note={`${formatCount((1e9 * allocated.now.blocks) / Math.max(1, length))} allocations/s`}
						was={<Was after={length} before={lengthBefore()} unit="ns" />}
					/>
				)}
			</dl>
		</>
	);
}

interface PartFigureProps {
	title: string;
	now?: Amount;
	before?: Amount;
	noteOf?: (amount: Amount) => ComponentChildren;
}

function PartFigure({ title, now, before, noteOf = blocksOf }: PartFigureProps) {
	if (!now) return null;
	return (
		<Figure
			title={title}
			value={formatBytes(now.bytes)}
			note={noteOf(now)}
			was={<Was after={now.bytes} before={before?.bytes} unit="bytes" />}
		/>
	);
}

/* "9,443\u00d7", "2.2\u00d7" */
function timesText(allocated: Amount, peak: Amount): string {
	const times = allocated.bytes / peak.bytes;
	return `${times < 1000 ? times.toFixed(1) : formatCount(times)}\u00d7`;
}

function churnBefore(allocated: Amount | undefined, peak: Amount | undefined): ComponentChildren {
	if (!allocated || !peak || peak.bytes === 0) return null;
	return <span class="was">was {timesText(allocated, peak)}</span>;
}

function Churn({ allocated, peak, was }: { allocated: Amount; peak: Amount; was?: ComponentChildren }) {
	if (peak.bytes === 0) return null;
	return (
		<Figure
			title="Churn"
			value={timesText(allocated, peak)}
			note="allocated per byte of the peak"
			was={was}
		/>
	);
}

function Figures() {
	const { peak, end, allocated, duration_ns, threads, before } = session.value!.open;
	const rate = allocated && duration_ns ? (1e9 * allocated.blocks) / duration_ns : 0;

	return (
		<dl class="figures">
			{peak && (
				<Figure
					title="Peak"
					value={formatBytes(peak.bytes)}
					note={`${blocksOf(peak)}, at ${formatNs(peak.ns)}`}
					was={<Was after={peak.bytes} before={before?.peak.bytes} unit="bytes" />}
				/>
			)}
			{end && (
				<Figure
					title="Live at the end"
					value={formatBytes(end.bytes)}
					note={leftOver(end)}
					was={<Was after={end.bytes} before={before?.end.bytes} unit="bytes" />}
				/>
			)}
			{allocated && (
				<Figure
					title="Allocated in all"
					value={formatBytes(allocated.bytes)}
					note={blocksOf(allocated)}
					was={<Was after={allocated.bytes} before={before?.allocated.bytes} unit="bytes" />}
				/>
			)}
			{peak && allocated && (
				<Churn allocated={allocated} peak={peak} was={churnBefore(before?.allocated, before?.peak)} />
			)}
			{duration_ns !== undefined && (
				<Figure
					title="Duration"
					value={formatNs(duration_ns)}
					note={`${formatCount(rate)} allocations/s, ${plural(threads?.length ?? 1, "thread")}`}
					was={<Was after={duration_ns} before={before?.duration_ns} unit="ns" />}
				/>
			)}
		</dl>
	);
}

const MOST_ROWS = 7;

const isOwnCall = (call = 0): boolean => call !== 0 && session.value!.names.of(call).kind === 0;

/* A sentence and the largest functions of a metric. */
function Holders({ name, title, onShow }: { name: string; title: string; onShow?: () => void }) {
	const metric = session.value!.open.metrics.find((each) => each.name === name);
	const asked = useAsk<{ rows: number; sum: number[]; before_sum?: number[] }>(
		metric && globalRequest("table", { by: "function", metric: name, metrics: [name], most: MOST_ROWS }),
		["call"],
	);
	const { reply } = asked;

	if (!metric) return null;
	const sum = reply?.head.sum[0] ?? 0;
	const values = [...(reply?.f64(`self.${name}`) ?? [])].filter((value) => value > 0);
	const calls = reply?.u32("call");
	const before = reply?.has(`before.self.${name}`) ? reply.f64(`before.self.${name}`) : undefined;

	return (
		<section class="holders" data-testid={`holders-${name}`} aria-busy={!reply && !asked.error}>
			<header>
				<h2>{title}</h2>
				<button
					type="button"
					class="link"
					onClick={() => {
						go({ view: "flame", metric: name, zoom: [] });
						onShow?.();
					}}
				>
					Flame graph
				</button>
			</header>
			<p>
				{reply && <Sentence metric={metric} values={values} sum={sum} names={reply.texts("name")} />}
				{reply && <Was after={sum} before={reply.head.before_sum?.[0]} unit={metric.unit} />}
			</p>
			<ol class={before ? "is-compared" : reply ? "" : "is-empty"}>
				{values.map((value, i) => (
					<li
						key={reply!.texts("name").at(i) + i}
						style={{ backgroundSize: `${sum > 0 ? (100 * value) / sum : 0}% 100%` }}
					>
						<a href={linkTo({ view: "sandwich", call: calls?.[i] ?? 0, metric: name })}>
							<bdi class={isOwnCall(calls?.[i]) ? "own" : ""}>{reply!.texts("name").at(i)}</bdi>
							<span class="place">{reply!.texts("place").at(i)}</span>
						</a>
						<span class="number">{formatValue(value, metric.unit)}</span>
						{before ? (
							<span class="number">
								<Change after={value} before={before[i]!} unit={metric.unit} />
							</span>
						) : (
							<span class="number muted">{formatShare(value, sum)}</span>
						)}
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

const WholeRun = () => <span class="muted"> of the whole run</span>;

/* How much of the resident memory the heap explains. */
function Coverage() {
	const { coverage } = session.value!.open;
	if (!coverage) return null;
	const { resident_bytes: resident, heap_bytes: heap, text } = coverage;

	return (
		<section class="coverage" data-testid="coverage">
			<h2>Resident memory{isPart() && <WholeRun />}</h2>
			<p>{text}.</p>
			{heap <= resident && (
				<div
					class="split"
					role="img"
					aria-label={`The heap is ${formatShare(heap, resident)} of resident memory`}
				>
					<span style={{ width: `${(100 * heap) / resident}%` }} />
				</div>
			)}
		</section>
	);
}

const PRIVATE: Record<string, string> = {
	names: "names of functions, threads, marks and labels",
	paths: "paths",
	args: "the command line",
	host: "the names of host and user",
};

const joined = (parts: string[]) =>
	parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join("");

/* Reports are passed on, so they say what is inside. */
function ReportContents() {
	const report = contents.value;
	if (!report) return null;
	const { events, series, source_files, redacted } = report;
	const kept = Object.keys(PRIVATE).filter((kind) => !redacted.includes(kind));
	const parts = [
		...(series
			? ["the exact curve of the heap", "a fixed set of windows"]
			: ["the engine", events ? "the recording with every event" : "the profile"]),
		...kept.map((kind) => PRIVATE[kind]!),
		...(source_files ? [`source lines of ${plural(source_files, "file")}`] : []),
	];
	const missing = [
		...(series ? ["the recording"] : []),
		...redacted.map((kind) => PRIVATE[kind] ?? kind),
		...(source_files ? [] : ["source text"]),
	];

	return (
		<section class="quality" data-testid="contents">
			<h2>This report</h2>
			<p>
				Contains {joined(parts)}.{missing.length > 0 && ` Does not contain ${joined(missing)}.`}
			</p>
		</section>
	);
}

function Quality() {
	const { notes, lacks, file, program, events, before } = session.value!.open;
	const isWorth = (name: string) => ["time", "names", "lines", "lifetimes"].includes(name);

	return (
		<section class="quality">
			<h2>Recording</h2>
			<ul>
				<li>
					{file.format ? `Format ${file.format}` : "Comparison"}
					{before && (
						<>
							{" "}
							with <bdi>{before.name}</bdi>
						</>
					)}
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
							Missing: {data}. <code>{needs}</code> provides it.
						</li>
					))}
			</ul>
		</section>
	);
}
