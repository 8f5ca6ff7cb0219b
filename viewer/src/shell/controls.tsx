/* controls.tsx - metric, time, filters and comparison: the settings that all views share. */
import { useState } from "preact/hooks";
import { formatShare, formatValue } from "../format.ts";
import { metricTitle } from "../metric_title.ts";
import { files, globalRequest, metric, session } from "../session.ts";
import { addFilter, go, state, toggleFilter } from "../state.ts";
import { SelectionText } from "../strip/strip.tsx";
import { allMarks, goToEnd, goToPeak, hasTime, setBase, wholeRange } from "../strip/time_moves.ts";
import { useAsk } from "../use_ask.ts";
import { viewOf } from "../views/views.ts";
import { openMenu } from "./menu.tsx";

/* Views of one metric show its sum. */
const hasMetric = (): boolean => viewOf(state.value.view).isOfMetric === true;

export function Controls() {
	return (
		<section class="controls" aria-label="Data">
			<label class="metric">
				<span class="hidden">Metric</span>
				<select
					data-testid="metric"
					value={metric.value.name}
					disabled={!hasMetric()}
					title={hasMetric() ? undefined : "This view shows several metrics, or none"}
					onChange={(event) => go({ metric: event.currentTarget.value })}
				>
					{session.value!.open.metrics.map(({ name, title }) => (
						<option key={name} value={name} title={title}>
							{metricTitle(name)}
						</option>
					))}
				</select>
			</label>
			{hasTime() && <TimeButtons />}
			<Filters />
			<CompareButton />
			{hasMetric() && <Sum />}
		</section>
	);
}

function TimeButtons() {
	const { time } = state.value;

	return (
		<div class="time">
			<div class="segments" role="group" aria-label="Time">
				<button type="button" aria-pressed={!time} onClick={() => go({ time: undefined })}>
					All
				</button>
				<button type="button" title="Highest moment of the selection (p)" onClick={() => void goToPeak()}>
					Peak
				</button>
				<button type="button" title="Last moment (e)" onClick={goToEnd}>
					End
				</button>
			</div>
			<span class="selection" data-testid="selection">
				<SelectionText />
			</span>
		</div>
	);
}

const VERBS = ["focus", "ignore", "hide", "show"] as const;

function Filters() {
	const [isAdding, setAdding] = useState(false);
	const { filters } = state.value;

	return (
		<div class="filters">
			{filters.map((filter) => (
				<Chip key={filter} filter={filter} />
			))}
			{isAdding ? (
				<FilterForm onDone={() => setAdding(false)} />
			) : (
				<button type="button" class="add" onClick={() => setAdding(true)} data-testid="add-filter">
					+ Filter
				</button>
			)}
			{!filters.includes("mine") && (
				<button
					type="button"
					class="add"
					title="Only functions of the program (m)"
					onClick={() => toggleFilter("mine")}
				>
					My code
				</button>
			)}
		</div>
	);
}

const TITLES: Record<string, string> = { mine: "my code", full: "with allocator frames" };

function Chip({ filter }: { filter: string }) {
	const cut = filter.indexOf(":");
	const [verb, pattern] = cut < 0 ? ["", filter] : [filter.slice(0, cut), filter.slice(cut + 1)];

	return (
		<span class="chip" data-testid="chip">
			{verb && <span class="muted">{verb}</span>} <bdi>{TITLES[pattern] ?? pattern}</bdi>
			<button type="button" aria-label={`Remove the filter ${filter}`} onClick={() => toggleFilter(filter)}>
				{"\u00d7"}
			</button>
		</span>
	);
}

function FilterForm({ onDone }: { onDone: () => void }) {
	const [verb, setVerb] = useState<string>("focus");
	const [pattern, setPattern] = useState("");

	return (
		<form
			class="filter-form"
			onSubmit={(event) => {
				event.preventDefault();
				if (pattern) addFilter(`${verb}:${pattern}`);
				onDone();
			}}
			onKeyDown={(event) => {
				if (event.key !== "Escape") return;
				event.stopPropagation();
				onDone();
			}}
		>
			<select
				aria-label="Kind of filter"
				value={verb}
				onChange={(event) => setVerb(event.currentTarget.value)}
			>
				{VERBS.map((each) => (
					<option key={each} value={each}>
						{each}
					</option>
				))}
			</select>
			<input
				type="text"
				aria-label="Pattern"
				autofocus
				spellcheck={false}
				placeholder="name, =name, /regex/, mod:libc"
				value={pattern}
				onInput={(event) => setPattern(event.currentTarget.value)}
			/>
			<button type="submit">Add</button>
		</form>
	);
}

const MOST_MARKS = 8; /* in the menu */

function CompareButton() {
	const { base, file, time } = state.value;
	if (base) return null;
	const items = files.value.flatMap(({ name, isComparison }, i) =>
		isComparison && i !== file
			? [{ label: name, run: () => go({ file: i, time: undefined, base: undefined, zoom: [] }) }]
			: [],
	);
	if (hasTime() && session.value!.open.has.comparison) {
		if (time)
			items.push({ label: "Keep this range for the old recording, and move the new one", run: setBase });
	} else if (hasTime()) {
		const { to } = wholeRange();
		const half = Math.round(to / 2);
		if (time) items.push({ label: "With the selected time, against the whole run", run: setBase });
		if (time && time.from > 0)
			items.push({
				label: "With the time before the selection",
				run: () => go({ base: { file, from: 0, to: time.from } }),
			});
		for (const { ns, name } of allMarks().slice(-MOST_MARKS))
			items.push({
				label: `With the moment of the mark ${name}`,
				run: () => go({ base: { file, from: ns, to: ns + 1 }, metric: "end_bytes" }),
			});
		items.push({
			label: "Second half with the first half",
			run: () => go({ base: { file, from: 0, to: half }, time: { from: half, to } }),
		});
	}
	if (items.length === 0) return null;
	return (
		<button
			type="button"
			class="add"
			aria-haspopup="menu"
			data-testid="compare"
			onClick={(event) => {
				const box = event.currentTarget.getBoundingClientRect();
				openMenu({ x: box.left, y: box.bottom + 2, title: "Compare", items });
			}}
		>
			Compare
		</button>
	);
}

/* The sum of the view, and how much the filters hide. */
function Sum() {
	const { reply } = useAsk<{ sum: number; whole: number }>(globalRequest("tree", { least: 1 }), [], {
		isAside: true,
	});
	const before = reply?.f64("before_total")[0];
	if (!reply) return <div class="sum" />;
	const { sum, whole } = reply.head;
	const { unit, additive } = metric.value;
	const isPartial = state.value.filters.length > 0 && whole > sum;

	return (
		<div class="sum">
			<span class="muted sum-title">{metricTitle(metric.value.name)}</span>
			<output data-testid="sum">
				<strong>{formatValue(sum, unit)}</strong>
				{before !== undefined && <span class="muted">was {formatValue(before, unit)}</span>}
				{isPartial && (
					<button type="button" class="plain" title="Remove all filters" onClick={() => go({ filters: [] })}>
						{formatShare(whole - sum, whole)} hidden by filters
					</button>
				)}
				{!additive && (
					<span class="muted" title="Each site at its own moment: sums have no meaning">
						not additive
					</span>
				)}
			</output>
		</div>
	);
}
