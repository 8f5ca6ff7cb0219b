/* cells.tsx - the contents of cells: names with places, numbers with bars, changes with signs. */
import { formatChange, formatFactor, formatShare, formatValue } from "../format.ts";

/* A number above a bar of its share. */
export function Bar({ value, whole, unit }: { value: number; whole: number; unit: string }) {
	const share = whole > 0 ? Math.max(0, Math.min(1, value / whole)) : 0;

	return (
		<span class="bar">
			<span class="bar-fill" style={{ transform: `scaleX(${share.toFixed(4)})` }} />
			<span class="bar-text">{formatValue(value, unit)}</span>
		</span>
	);
}

export function Share({ value, whole }: { value: number; whole: number }) {
	return <span class="muted">{formatShare(value, whole)}</span>;
}

export function Change({ after, before, unit }: { after: number; before: number; unit: string }) {
	const change = after - before;
	const direction = change > 0 ? "grew" : change < 0 ? "shrank" : "muted";

	return <span class={direction}>{formatChange(change, unit)}</span>;
}

export function Factor({ after, before }: { after: number; before: number }) {
	return <span class="muted">{formatFactor(after, before)}</span>;
}

/* A function with its place; `kind` 0 is the user's own code. */
export function CallCell({
	name,
	place,
	note,
	isOwn,
}: {
	name: string;
	place?: string;
	note?: string;
	isOwn?: boolean;
}) {
	return (
		<span class="call-cell" title={name}>
			<bdi class={isOwn ? "own" : ""}>{name}</bdi>
			{note && <span class="muted"> via {note}</span>}
			{place && <span class="place">{place}</span>}
		</span>
	);
}
