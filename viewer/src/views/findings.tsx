/* findings.tsx - what the engine noticed: each finding in a sentence, with the reason, advice and a link to its evidence. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatBytes, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { session } from "../session.ts";
import { state } from "../state.ts";
import { Place } from "../table/cells.tsx";
import { readState, writeState } from "../url.ts";
import { useAsk } from "../use_ask.ts";

interface FindingsHead {
	unchecked?: { rule: string; needs: string }[];
}

const FIRST = 6; /* more are shown on request */

/* The state that shows a finding.  The timeline is above every view; the flame graph names its holders. */
function evidence(show: string): string {
	const shown = readState(show);

	return writeState({
		...shown,
		file: state.value.file,
		view: shown.view === "timeline" ? "flame" : shown.view,
	});
}

/* The rules look at the whole run. */
export function Findings({ about }: { about: ComponentChildren }) {
	const [isAll, setAll] = useState(false);
	const { reply, error } = useAsk<FindingsHead>({ ask: "findings", file: state.value.file }, ["site"]);

	if (error) return null;
	if (!reply)
		return (
			<section class="findings is-empty" aria-busy="true">
				<h2>Findings</h2>
				<p class="muted">Looking for wasteful uses of memory.</p>
			</section>
		);
	const count = reply.texts("rule").length;
	const shown = isAll ? count : Math.min(count, FIRST);
	return (
		<section class="findings" id="findings" data-testid="findings">
			<h2>
				{count > 0 ? plural(count, "finding") : "No findings"}
				{about}
			</h2>
			<ol>
				{Array.from({ length: shown }, (_, i) => i).map((row) => (
					<Finding key={row} reply={reply} row={row} />
				))}
			</ol>
			{shown < count && (
				<button type="button" class="link" onClick={() => setAll(true)}>
					{plural(count - shown, "more finding")}
				</button>
			)}
			<Unchecked rules={reply.head.unchecked ?? []} />
		</section>
	);
}

function Finding({ reply, row }: { reply: Reply<FindingsHead>; row: number }) {
	const text = (column: string) => reply.texts(column).at(row);
	const site = reply.u32("site")[row] ?? 0;
	const saving = reply.f64("saving")[row] ?? 0;
	const severity = text("severity");

	return (
		<li class={`finding ${severity}`}>
			<details>
				<summary>
					<span class={`severity ${severity}`}>{severity}</span>
					<span class="sentence">
						{text("name") && (
							<>
								<bdi class="own">{text("name")}</bdi>,{" "}
							</>
						)}
						{text("title")}: {text("sentence")}
					</span>
				</summary>
				<p>{text("why")}</p>
				<p>{text("advice")}</p>
				<p class="muted">
					Rule {text("rule")}
					{saving > 0 && `, saves about ${formatBytes(saving)}`}
				</p>
			</details>
			<Place place={text("place")} path={site !== 0 ? session.value!.names.of(site).file : ""} />
			{text("show") && (
				<a class="show" href={evidence(text("show"))} aria-label={`Show the evidence of finding ${row + 1}`}>
					Show
				</a>
			)}
		</li>
	);
}

function Unchecked({ rules }: { rules: { rule: string; needs: string }[] }) {
	if (rules.length === 0) return null;
	return (
		<details class="muted">
			<summary>{plural(rules.length, "rule")} could not be checked</summary>
			<ul>
				{rules.map(({ rule, needs }) => (
					<li key={rule}>
						{rule}: needs {needs}
					</li>
				))}
			</ul>
		</details>
	);
}
