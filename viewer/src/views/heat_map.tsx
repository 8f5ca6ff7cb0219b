/* heat_map.tsx - blocks by size (across) and lifetime (up), darker for more. */
import { useRef, useState } from "preact/hooks";
import { formatChange, formatEdge, formatValue } from "../format.ts";
import type { Reply } from "../reply.ts";
import { announcement, cursorDetails, hoverDetails } from "../shell/details.tsx";
import { palette } from "../theme.ts";
import { useSize } from "../use_size.ts";
import { beforeOf } from "./histogram.tsx";

/* Steps of the ramp are logarithmic: blocks range over many powers of ten. */
export function heatStep(value: number, most: number, steps: number): number {
	if (value <= 0 || most <= 1) return 0;
	return Math.min(steps - 1, Math.floor((Math.log(value) / Math.log(most)) * (steps - 0.001)));
}

const AXIS = { left: 66, right: 34, bottom: 36 }; /* pixels for the edges */
const MOST_WIDTH = 44; /* of a cell */
const LABEL = 52; /* pixels that an edge takes across */

/* The least value of each step. */
const leastOf = (step: number, most: number, steps: number): number =>
	step === 0 ? 1 : Math.ceil(most ** (step / (steps - 0.001)));

function HeatScale({ most, unit, heat }: { most: number; unit: string; heat: readonly string[] }) {
	return (
		<ul class="legend" aria-label="Colours">
			{heat.map((colour, step) => {
				const least = leastOf(step, most, heat.length);
				if (heatStep(least, most, heat.length) !== step) return null; /* a few blocks need few steps */
				return (
					<li key={colour}>
						<span class="swatch" style={{ backgroundColor: colour }} />
						{formatEdge(least, unit)}
						{step === heat.length - 1 ? " and more" : ""}
					</li>
				);
			})}
		</ul>
	);
}

const ordered = (values: Float64Array) => [...new Set(values)].sort((a, b) => a - b);

/* A cell of the picture: a range of sizes and one of lifetimes. */
interface Cell {
	column: number;
	row: number;
	title: string;
	parts: string[];
	value: number;
	change: number | undefined; // against the base
}

function cellsOf(reply: Reply, isBytes: boolean): Cell[] {
	const [sizes, lives] = [reply.f64("low_size"), reply.f64("low_life")];
	const [columns, rows] = [ordered(sizes), ordered(lives)];
	const before = beforeOf(reply, isBytes);
	const unit = isBytes ? "bytes" : "count";

	return [...reply.f64(isBytes ? "bytes" : "blocks")].map((value, i) => {
		const change = before && value - before[i]!;
		return {
			column: columns.indexOf(sizes[i]!),
			row: rows.indexOf(lives[i]!),
			title: `from ${formatEdge(sizes[i]!, "bytes")}, freed after ${formatEdge(lives[i]!, "ns")} or more`,
			parts: [
				formatValue(value, unit),
				...(change === undefined ? [] : [`${formatChange(change, unit)} against the base`]),
			],
			value,
			change,
		};
	});
}

const MOVES: Record<string, [number, number]> = {
	ArrowLeft: [-1, 0],
	ArrowRight: [1, 0],
	ArrowDown: [0, -1],
	ArrowUp: [0, 1],
};

/* The nearest cell in the direction of an arrow key, preferably straight ahead; the same one if there is none. */
function neighbour(cells: Cell[], from: number, key: string): number | undefined {
	const move = MOVES[key];
	const here = cells[from];
	if (!move || !here) return undefined;
	let [best, least] = [from, Number.POSITIVE_INFINITY];

	cells.forEach(({ column, row }, i) => {
		const [x, y] = [column - here.column, row - here.row];
		const ahead = x * move[0] + y * move[1];
		const distance = ahead + 4 * Math.abs(move[0] === 0 ? x : y);
		if (ahead > 0 && distance < least) [best, least] = [i, distance];
	});
	return best;
}

export function HeatMap({ reply, isBytes }: { reply: Reply; isBytes: boolean }) {
	const cells = cellsOf(reply, isBytes);

	if (cells.length === 0) return <p class="muted">No blocks were freed.</p>;
	return (
		<>
			<Picture reply={reply} cells={cells} unit={isBytes ? "bytes" : "count"} />
			<AsTable reply={reply} cells={cells} unit={isBytes ? "bytes" : "count"} />
		</>
	);
}

interface PartProps {
	reply: Reply;
	cells: Cell[];
	unit: string;
}

/* The cell under the keyboard's cursor; the largest one at first. */
function useCursor(cells: Cell[]) {
	const [current, setCurrent] = useState(-1);
	const show = (i: number) => {
		setCurrent(i);
		cursorDetails.value = cells[i];
		announcement.value = [cells[i]!.title, ...cells[i]!.parts].join(", ");
	};

	return {
		current,
		onFocus: () => show(cells.reduce((best, { value }, i) => (value > cells[best]!.value ? i : best), 0)),
		onBlur: () => {
			setCurrent(-1);
			cursorDetails.value = undefined;
			announcement.value = "";
		},
		onKeyDown: (event: KeyboardEvent) => {
			const next = neighbour(cells, current, event.key);
			if (next === undefined) return;
			show(next);
			event.preventDefault();
			event.stopPropagation();
		},
	};
}

function Picture({ reply, cells, unit }: PartProps) {
	const [columns, rows] = [ordered(reply.f64("low_size")), ordered(reply.f64("low_life"))];
	const most = cells.reduce((most, { value }) => Math.max(most, value), 1);
	const { heat } = palette.value;
	const box = useRef<HTMLDivElement>(null);
	const size = useSize(box);
	const { current, ...cursor } = useCursor(cells);
	const cell = {
		width: Math.max(6, Math.min(MOST_WIDTH, (size.width - AXIS.left - AXIS.right) / columns.length)),
		height: rows.length > 24 ? 13 : 18,
	};
	const width = AXIS.left + columns.length * cell.width + AXIS.right;
	const height = rows.length * cell.height + AXIS.bottom;
	const y = (row: number) => (rows.length - 1 - row) * cell.height;
	const everyColumn = Math.ceil(LABEL / cell.width);
	const fill = (value: number) => (value > 0 ? heat[heatStep(value, most, heat.length)] : "none");

	return (
		<div class="heat" ref={box}>
			<HeatScale most={most} unit={unit} heat={heat} />
			<svg
				width={width}
				height={height}
				role="application"
				// biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move its cursor
				tabIndex={0}
				aria-label="Blocks by size and lifetime; arrow keys move from cell to cell"
				data-testid="heat"
				{...cursor}
			>
				{cells.map(({ column, row, value, title, parts }, i) => (
					<rect
						key={`${column} ${row}`}
						x={AXIS.left + column * cell.width}
						y={y(row)}
						width={cell.width - 1}
						height={cell.height - 1}
						class={i === current ? "is-current" : value > 0 ? undefined : "is-gone"}
						fill={fill(value)}
						onPointerEnter={() => {
							hoverDetails.value = { title, parts };
						}}
						onPointerLeave={() => {
							hoverDetails.value = undefined;
						}}
					/>
				))}
				{rows.map((life, i) => (
					<text key={life} class="axis" x={AXIS.left - 6} y={y(i) + cell.height - 3} text-anchor="end">
						{i % 2 === 0 ? formatEdge(life, "ns") : ""}
					</text>
				))}
				{columns.map((size, i) => (
					<text key={size} class="axis" x={AXIS.left + i * cell.width} y={rows.length * cell.height + 13}>
						{i % everyColumn === 0 ? formatEdge(size, "bytes") : ""}
					</text>
				))}
				<text class="axis" x={AXIS.left} y={height - 5}>
					size of blocks (across), lifetime (up)
					{cells.some(({ change }) => change !== undefined) && "; dotted: only in the base"}
				</text>
			</svg>
		</div>
	);
}

/* The same numbers as text, the largest first. */
function AsTable({ reply, cells, unit }: PartProps) {
	const [sizes, lives] = [reply.f64("low_size"), reply.f64("low_life")];
	const rows = [...cells.keys()].sort((a, b) => cells[b]!.value - cells[a]!.value);
	const isCompared = cells.some(({ change }) => change !== undefined);

	return (
		<details class="plain-table" data-testid="heat-table">
			<summary>As a table</summary>
			<table>
				<thead>
					<tr>
						<th scope="col">Size from</th>
						<th scope="col">Lifetime from</th>
						<th scope="col">{unit === "bytes" ? "Bytes" : "Blocks"}</th>
						{isCompared && <th scope="col">Change</th>}
					</tr>
				</thead>
				<tbody>
					{rows.map((i) => (
						<tr key={i}>
							<td>{formatEdge(sizes[i]!, "bytes")}</td>
							<td>{formatEdge(lives[i]!, "ns")}</td>
							<td>{formatValue(cells[i]!.value, unit)}</td>
							{isCompared && <td>{formatChange(cells[i]!.change ?? 0, unit)}</td>}
						</tr>
					))}
				</tbody>
			</table>
		</details>
	);
}
