/* cells.tsx - the contents of cells: names with places, numbers with bars, changes with signs. */
import { canShowSource, lineOf } from "../call_actions.ts";
import { formatChange, formatFactor, formatShare, formatValue } from "../format.ts";
import { linkTo } from "../state.ts";

/* A bar of a share, and the number beside it: a text on a bar is harder to read. */
export function TextBar({ text, share }: { text: string; share: number }) {
	const length = Math.max(0, Math.min(1, share));

	return (
		<span class="bar">
			<span class="bar-track">
				{length > 0 && <span class="bar-fill" style={{ transform: `scaleX(${length.toFixed(4)})` }} />}
			</span>
			<span class={length > 0 ? "bar-text" : "bar-text muted"}>{text}</span>
		</span>
	);
}

export function Bar({ value, whole, unit }: { value: number; whole: number; unit: string }) {
	return <TextBar text={formatValue(value, unit)} share={whole > 0 ? value / whole : 0} />;
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

/* "app.cpp:13", which leads to the line if the page can show it. */
export function Place({ place, path, isInRow }: { place: string; path: string; isInRow?: boolean }) {
	if (!place) return null;
	if (!path || !canShowSource()) return <span class="place">{place}</span>;
	return (
		<a
			class="place"
			href={linkTo({ view: "source", path, line: lineOf(place) })}
			title={path}
			tabIndex={isInRow ? -1 : undefined}
		>
			{place}
		</a>
	);
}

/* A function with its place, which is a link if its path is given; `kind` 0 is the user's own code. */
export function CallCell({
	name,
	place,
	path,
	note,
	isOwn,
}: {
	name: string;
	place?: string;
	path?: string;
	note?: string;
	isOwn?: boolean;
}) {
	return (
		<span class="call-cell" title={name}>
			<bdi class={isOwn ? "own" : ""}>{name}</bdi>
			{note && <span class="muted"> via {note}</span>}
			{place && <Place place={place} path={path ?? ""} isInRow />}
		</span>
	);
}
