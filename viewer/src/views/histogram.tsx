/* histogram.tsx - bars by powers of two; a list, so that it also reads as a table. */
import { formatShare, formatValue } from "../format.ts";
import { hoverDetails } from "../shell/details.tsx";

export interface HistogramProps {
	label: string;
	testId: string;
	low: Float64Array;
	high: Float64Array;
	values: Float64Array;
	edgeUnit: string; // of low and high
	valueUnit: string;
	extra?: { label: string; value: number }; // such as blocks that were never freed
	onPick?: (bucket: number) => void;
}

export function Histogram(props: HistogramProps) {
	const { low, high, values, edgeUnit, valueUnit, extra, onPick } = props;
	const sum = values.reduce((a, b) => a + b, extra?.value ?? 0);
	const most = Math.max(1, extra?.value ?? 0, ...values);
	const range = (i: number) =>
		low[i] === high[i]
			? formatValue(low[i]!, edgeUnit)
			: `${formatValue(low[i]!, edgeUnit)} to ${formatValue(high[i]!, edgeUnit)}`;
	const rows = [...values].map((value, i) => ({ label: range(i), value, pick: onPick && (() => onPick(i)) }));

	return (
		<ol class="histogram" aria-label={props.label} data-testid={props.testId}>
			{[...rows, ...(extra ? [{ ...extra, pick: undefined }] : [])].map(({ label, value, pick }) => (
				<li
					key={label}
					onPointerEnter={() => {
						hoverDetails.value = {
							title: label,
							parts: [formatValue(value, valueUnit), `${formatShare(value, sum)} of all`],
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
						<span
							class="fill"
							style={{ width: `${(100 * value) / most}%`, minWidth: value > 0 ? "2px" : "0" }}
						/>
					</span>
					<span class="number">{formatValue(value, valueUnit)}</span>
					<span class="number muted">{formatShare(value, sum)}</span>
				</li>
			))}
		</ol>
	);
}

/* Blocks or bytes. */
export function UnitSwitch({
	isBytes,
	onChange,
}: {
	isBytes: boolean;
	onChange: (isBytes: boolean) => void;
}) {
	return (
		<div class="segments" role="group" aria-label="Count">
			<button type="button" aria-pressed={!isBytes} onClick={() => onChange(false)}>
				Blocks
			</button>
			<button type="button" aria-pressed={isBytes} onClick={() => onChange(true)}>
				Bytes
			</button>
		</div>
	);
}
