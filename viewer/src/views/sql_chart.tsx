/* sql_chart.tsx - two columns of a result as bars, a line or points; the table below has the same numbers. */
import { useRef } from "preact/hooks";
import { hoverDetails } from "../shell/details.tsx";
import { go, state } from "../state.ts";
import { useSize } from "../use_size.ts";

export interface ResultColumn {
	name: string;
	text: (row: number) => string;
	values: number[] | undefined; // of a column of numbers
}

interface Props {
	columns: ResultColumn[];
	rows: number;
}

const KINDS = [
	{ name: "", title: "Table only" },
	{ name: "bars", title: "Bars" },
	{ name: "line", title: "Line" },
	{ name: "points", title: "Points" },
];

/* The columns across and up: the chosen ones, or the first text and the first number beside it. */
function axesOf(columns: ResultColumn[]): [number, number] {
	const [across, up] = state.value.axes;
	const text = columns.findIndex(({ values }) => !values);
	const x = across !== undefined && columns[across] ? across : Math.max(0, text);
	const number = columns.findIndex(({ values }, i) => values !== undefined && i !== x);

	return [x, up !== undefined && columns[up]?.values ? up : number < 0 ? x : number];
}

export function SqlChart({ columns, rows }: Props) {
	const [x, y] = axesOf(columns);
	const kind = KINDS.find(({ name }) => name === state.value.chart) ?? KINDS[0]!;

	if (rows === 0 || columns.every(({ values }) => !values)) return null;
	return (
		<>
			<div class="view-tools chart-tools">
				<div class="segments" role="group" aria-label="Chart">
					{KINDS.map(({ name, title }) => (
						<button
							type="button"
							key={name}
							aria-pressed={name === kind.name}
							onClick={() => go({ chart: name })}
						>
							{title}
						</button>
					))}
				</div>
				{kind.name && (
					<>
						<Axis title="Up" columns={columns} at={y} isNumber onChange={(next) => go({ axes: [x, next] })} />
						<Axis title="Across" columns={columns} at={x} onChange={(next) => go({ axes: [next, y] })} />
					</>
				)}
			</div>
			{kind.name && (
				<Chart key={`${x} ${y}`} kind={kind.name} rows={rows} across={columns[x]!} up={columns[y]!} />
			)}
		</>
	);
}

interface AxisProps {
	title: string;
	columns: ResultColumn[];
	at: number;
	isNumber?: boolean;
	onChange: (column: number) => void;
}

function Axis({ title, columns, at, isNumber, onChange }: AxisProps) {
	return (
		<label>
			<span class="muted">{title}</span>{" "}
			<select value={String(at)} onChange={(event) => onChange(Number(event.currentTarget.value))}>
				{columns.map(({ name, values }, i) =>
					isNumber && !values ? null : (
						<option key={i} value={String(i)}>
							{name}
						</option>
					),
				)}
			</select>
		</label>
	);
}

const HEIGHT = 190;
const EDGE = { left: 64, right: 20, top: 8, bottom: 20 }; /* pixels for labels */
const LABEL = 110; /* pixels that a label takes across */
const MOST_LETTERS = 15;

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const elided = (text: string) =>
	text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}\u2026` : text;

interface Scale {
	place: (row: number) => number; // share of the width
	labels: { share: number; text: string }[];
}

/* Numbers have their distances; texts, and bars, stand side by side. */
function scaleOf({ text, values }: ResultColumn, rows: number, isOrdinal: boolean, most: number): Scale {
	if (!values || isOrdinal) {
		const place = (row: number) => (row + 0.5) / rows;
		const every = Math.ceil(rows / most);
		const labelled = Array.from({ length: Math.ceil(rows / every) }, (_, i) => i * every);
		return { place, labels: labelled.map((row) => ({ share: place(row), text: elided(text(row)) })) };
	}
	const low = values.reduce((a, b) => Math.min(a, b));
	const width = values.reduce((a, b) => Math.max(a, b)) - low || 1;
	const shares = Array.from({ length: most }, (_, i) => i / Math.max(1, most - 1));
	return {
		place: (row) => (values[row]! - low) / width,
		labels: shares.map((share) => ({ share, text: short.format(low + share * width) })),
	};
}

/* One path for all rows. */
function pathOf(
	kind: string,
	rows: number,
	x: (row: number) => number,
	y: (row: number) => number,
	zero: number,
) {
	const each = Array.from({ length: rows }, (_, row) => row);
	const at = (row: number) => `${x(row).toFixed(1)},${y(row).toFixed(1)}`;

	if (kind === "line") {
		const ordered = each.sort((a, b) => x(a) - x(b));
		return `M${ordered.map(at).join("L")}`;
	}
	if (kind === "points") return each.map((row) => `M${at(row)}m-2,-2h4v4h-4z`).join("");
	const width = Math.max(1, (x(1) - x(0) || LABEL) * 0.8);
	return each
		.map(
			(row) =>
				`M${(x(row) - width / 2).toFixed(1)},${zero.toFixed(1)}V${y(row).toFixed(1)}h${width.toFixed(1)}V${zero.toFixed(1)}z`,
		)
		.join("");
}

function Chart({
	kind,
	rows,
	across,
	up,
}: {
	kind: string;
	rows: number;
	across: ResultColumn;
	up: ResultColumn;
}) {
	const box = useRef<HTMLDivElement>(null);
	const { width } = useSize(box);
	const inner = {
		width: Math.max(1, width - EDGE.left - EDGE.right),
		height: HEIGHT - EDGE.top - EDGE.bottom,
	};
	const values = up.values!;
	const [low, high] = [
		values.reduce((a, b) => Math.min(a, b), 0),
		values.reduce((a, b) => Math.max(a, b), 0),
	];
	const scale = scaleOf(across, rows, kind === "bars", Math.max(2, Math.floor(inner.width / LABEL)));
	const x = (row: number) => EDGE.left + scale.place(row) * inner.width;
	const level = (value: number) => EDGE.top + (1 - (value - low) / (high - low || 1)) * inner.height;
	const nearest = (offset: number) =>
		values.reduce((best, _, row) => (Math.abs(x(row) - offset) < Math.abs(x(best) - offset) ? row : best), 0);

	return (
		<div class="sql-chart" ref={box}>
			<svg
				width={width}
				height={HEIGHT}
				role="img"
				aria-label={`${up.name} by ${across.name}, ${rows} rows; the table below has the numbers`}
				data-testid="sql-chart"
				onPointerMove={(event) => {
					const row = nearest(event.offsetX);
					hoverDetails.value = { title: across.text(row), parts: [`${up.name} ${up.text(row)}`] };
				}}
				onPointerLeave={() => {
					hoverDetails.value = undefined;
				}}
			>
				{[...new Set([low, (low + high) / 2, high])].map((value) => (
					<g key={value}>
						<line
							class="history-grid"
							x1={EDGE.left}
							x2={width - EDGE.right}
							y1={level(value)}
							y2={level(value)}
						/>
						<text class="axis" x={EDGE.left - 6} y={level(value) + 4} text-anchor="end">
							{short.format(value)}
						</text>
					</g>
				))}
				<path class={`chart-${kind}`} d={pathOf(kind, rows, x, (row) => level(values[row]!), level(0))} />
				{scale.labels.map(({ share, text }) => (
					<text
						key={share}
						class="axis"
						x={EDGE.left + share * inner.width}
						y={HEIGHT - 5}
						text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}
					>
						{text}
					</text>
				))}
			</svg>
		</div>
	);
}
