/* histogram.tsx - bars by powers of two; a list, so that it also reads as a table. */
import { formatEdge, formatShare, formatValue } from "../format.ts";
import type { Reply } from "../reply.ts";
import { hoverDetails } from "../shell/details.tsx";
import { go, state } from "../state.ts";
import { Change } from "../table/cells.tsx";

export interface HistogramProps {
	label: string;
	testId: string;
	low: Float64Array;
	high: Float64Array;
	values: Float64Array;
	before?: Float64Array; // of the base
	edgeUnit: string; // of low and high
	valueUnit: string;
	extra?: { label: string; value: number; before?: number }; // such as blocks that were never freed
	onPick?: (bucket: number) => void;
}

interface Row {
	label: string;
	value: number;
	before?: number;
	pick?: () => void;
}

/* The meaning of the two bars of a comparison. */
export function BarLegend() {
	return (
		<ul class="legend" aria-label="Bars">
			<li>
				<span class="swatch is-now" />
				now
			</li>
			<li>
				<span class="swatch is-before" />
				before
			</li>
		</ul>
	);
}

/* The last of the empty buckets from `i` on: three and more become one row.  Others stay alone. */
function endOfEmpty(i: number, values: Float64Array, before?: Float64Array): number {
	let end = i;

	while (end < values.length && values[end] === 0 && !before?.[end]) end++;
	return end - i < 3 ? i : end - 1;
}

export function Histogram(props: HistogramProps) {
	const { low, high, values, before, edgeUnit, valueUnit, extra, onPick } = props;
	const sum = values.reduce((a, b) => a + b, extra?.value ?? 0);
	const most = Math.max(1, extra?.value ?? 0, extra?.before ?? 0, ...values, ...(before ?? []));
	const range = (first: number, last: number) => {
		const [from, to] = [low[first]!, high[last]!].map((edge) => formatEdge(edge, edgeUnit));
		return from === to ? to! : low[first] === 0 ? `up to ${to}` : `${from} to ${to}`;
	};
	const rows: Row[] = [];

	for (let i = 0; i < values.length; i++) {
		const end = endOfEmpty(i, values, before);
		rows.push({
			label: range(i, end),
			value: values[i]!,
			before: before?.[i],
			pick: onPick && end === i ? () => onPick(i) : undefined,
		});
		i = end;
	}
	const bar = (value: number) => ({
		width: `${(100 * value) / most}%`,
		minWidth: value > 0 ? "2px" : "0",
		visibility: value > 0 ? "visible" : "hidden",
	});

	return (
		<ol
			class={before ? "histogram is-compared" : "histogram"}
			aria-label={props.label}
			data-testid={props.testId}
		>
			{[...rows, ...(extra ? [extra as Row] : [])].map(({ label, value, before: old, pick }) => (
				<li
					key={label}
					onPointerEnter={() => {
						hoverDetails.value = {
							title: label,
							parts: [
								formatValue(value, valueUnit),
								`${formatShare(value, sum)} of all`,
								...(old === undefined ? [] : [`was ${formatValue(old, valueUnit)}`]),
							],
						};
					}}
					onPointerLeave={() => {
						hoverDetails.value = undefined;
					}}
				>
					{pick ? (
						<button type="button" class="plain label" onClick={pick}>
							{label}
						</button>
					) : (
						<span class="label">{label}</span>
					)}
					<span class="track">
						<span class="fill" style={bar(value)} />
						{old !== undefined && <span class="fill is-before" style={bar(old)} />}
					</span>
					<span class="number">{formatValue(value, valueUnit)}</span>
					{old === undefined ? (
						<span class="number muted">{formatShare(value, sum)}</span>
					) : (
						<span class="number">
							<Change after={value} before={old} unit={valueUnit} />
						</span>
					)}
				</li>
			))}
		</ol>
	);
}

/* The bars of the base, if there is one. */
export function beforeOf(reply: Reply<unknown>, isBytes: boolean): Float64Array | undefined {
	const name = isBytes ? "before_bytes" : "before_blocks";

	return reply.has(name) ? reply.f64(name) : undefined;
}

/* Blocks or bytes. */
export function UnitSwitch() {
	const isBytes = state.value.bytes;

	return (
		<div class="segments" role="group" aria-label="Count">
			<button type="button" aria-pressed={!isBytes} onClick={() => go({ bytes: false })}>
				Blocks
			</button>
			<button type="button" aria-pressed={isBytes} onClick={() => go({ bytes: true })}>
				Bytes
			</button>
		</div>
	);
}
