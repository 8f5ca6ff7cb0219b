/* heat_map.tsx - blocks by size (across) and lifetime (up), darker for more. */
import { formatBytes, formatNs, formatValue } from "../format.ts";
import type { Reply } from "../reply.ts";
import { hoverDetails } from "../shell/details.tsx";
import { palette } from "../theme.ts";

/* Steps of the ramp are logarithmic: blocks range over many powers of ten. */
export function heatStep(value: number, most: number, steps: number): number {
	if (value <= 0 || most <= 1) return 0;
	return Math.min(steps - 1, Math.floor((Math.log(value) / Math.log(most)) * (steps - 0.001)));
}

const CELL = { width: 30, height: 20, left: 70, bottom: 34 };

const ordered = (values: Float64Array) => [...new Set(values)].sort((a, b) => a - b);

export function HeatMap({ reply, isBytes }: { reply: Reply; isBytes: boolean }) {
	const [sizes, lives] = [reply.f64("low_size"), reply.f64("low_life")];
	const values = reply.f64(isBytes ? "bytes" : "blocks");
	const unit = isBytes ? "bytes" : "count";
	const [columns, rows] = [ordered(sizes), ordered(lives)];
	const most = values.reduce((a, b) => Math.max(a, b), 1);
	const { heat } = palette.value;
	const [width, height] = [CELL.left + columns.length * CELL.width, rows.length * CELL.height + CELL.bottom];
	const y = (life: number) => (rows.length - 1 - rows.indexOf(life)) * CELL.height;

	if (values.length === 0) return <p class="muted">No blocks were freed.</p>;
	return (
		<svg
			class="heat"
			viewBox={`0 0 ${width} ${height}`}
			role="img"
			aria-label="Blocks by size and lifetime"
			data-testid="heat"
		>
			{[...values].map((value, i) => (
				<rect
					key={`${sizes[i]} ${lives[i]}`}
					x={CELL.left + columns.indexOf(sizes[i]!) * CELL.width}
					y={y(lives[i]!)}
					width={CELL.width - 1}
					height={CELL.height - 1}
					fill={heat[heatStep(value, most, heat.length)]}
					onPointerEnter={() => {
						hoverDetails.value = {
							title: `from ${formatBytes(sizes[i]!)}, freed after ${formatNs(lives[i]!)} or more`,
							parts: [formatValue(value, unit)],
						};
					}}
					onPointerLeave={() => {
						hoverDetails.value = undefined;
					}}
				/>
			))}
			{rows.map((life, i) => (
				<text key={life} class="axis" x={CELL.left - 6} y={y(life) + CELL.height - 6} text-anchor="end">
					{i % 2 === 0 ? formatNs(life) : ""}
				</text>
			))}
			{columns.map((size, i) => (
				<text
					key={size}
					class="axis"
					x={CELL.left + i * CELL.width + CELL.width / 2}
					y={rows.length * CELL.height + 14}
					text-anchor="middle"
				>
					{i % 2 === 0
						? formatBytes(size)
								.replace(/\.00?(?= )/, "")
								.replace(/\.0+ /, " ")
						: ""}
				</text>
			))}
			<text class="axis" x={CELL.left} y={height - 4}>
				size of blocks (across), lifetime (up); darker: more
			</text>
		</svg>
	);
}
