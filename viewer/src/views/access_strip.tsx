/* access_strip.tsx - how often each byte of a block was accessed, as DHAT counts it: darker for more. */
import { formatCount } from "../format.ts";
import type { Reply } from "../reply.ts";
import { palette } from "../theme.ts";
import { heatStep } from "./heat_map.tsx";

const SATURATED = 65535; /* DHAT counts no further */

interface Run {
	from: number;
	length: number;
	count: number;
}

/* Runs of bytes with equal counts, by row of the reply; [] for rows that have none. */
export function accessRuns(reply: Reply): Run[][] {
	const [runs, lengths, counts] = [reply.u32("runs"), reply.f64("run_length"), reply.u32("run_count")];
	let next = 0;

	return [...runs].map((number) => {
		let from = 0;
		return Array.from({ length: number }, () => {
			const run = { from, length: lengths[next] ?? 0, count: counts[next] ?? 0 };
			from += run.length;
			next++;
			return run;
		});
	});
}

/* "bytes 0 to 7: 12,000; 12 to 63: never" */
export const accessText = (runs: Run[]): string =>
	runs
		.map(({ from, length, count }) => {
			const range = length > 1 ? `${from} to ${from + length - 1}` : `${from}`;
			const times = count === 0 ? "never" : formatCount(count);
			return `${range}: ${times}${count >= SATURATED ? " or more" : ""}`;
		})
		.join("; ");

export function AccessStrip({ runs }: { runs: Run[] }) {
	const { heat } = palette.value;
	const bytes = runs.reduce((sum, { length }) => sum + length, 0);
	const most = runs.reduce((largest, { count }) => Math.max(largest, count), 1);

	if (bytes === 0) return null;
	return (
		<svg class="accesses" viewBox={`0 0 ${bytes} 1`} preserveAspectRatio="none" role="img">
			<title>{`Accesses by byte: ${accessText(runs)}`}</title>
			{runs.map(({ from, length, count }) => (
				<rect
					key={from}
					x={from}
					y={0}
					width={length}
					height={1}
					fill={count > 0 ? heat[heatStep(count, most, heat.length)] : "none"}
				/>
			))}
		</svg>
	);
}
