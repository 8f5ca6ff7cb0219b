/* details.tsx - the bar at the bottom: everything about the thing under the pointer or the keyboard's cursor. */
import { signal } from "@preact/signals";

export interface Details {
	title: string;
	place?: string;
	parts: string[]; // numbers in words: "201.3 MiB, 48.8% of all"
}

export const hoverDetails = signal<Details | undefined>(undefined);
export const cursorDetails = signal<Details | undefined>(undefined);

/* Read by screen readers: results of searches and filters. */
export const announcement = signal("");

const HINT: Details = { title: "", parts: ["Point at something for its numbers.", "Press ? for all keys."] };

export function DetailsBar() {
	const details = hoverDetails.value ?? cursorDetails.value ?? HINT;

	return (
		<footer class="details" data-testid="details">
			<div class="details-title" title={details.title}>
				{details.title && <bdi>{details.title}</bdi>}
				{details.place && <span class="muted"> {details.place}</span>}
			</div>
			<div class="details-parts">
				{details.parts.map((part) => (
					<span key={part}>{part}</span>
				))}
			</div>
			<div class="hidden" role="status" aria-live="polite">
				{announcement.value}
			</div>
		</footer>
	);
}
