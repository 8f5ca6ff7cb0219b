/* suppressions.tsx - leaks that are known and hidden, by patterns of LeakSanitizer; they go into a file for `allo leaks`. */
import { useState } from "preact/hooks";
import { copy } from "../call_actions.ts";
import type { Request } from "../engine.ts";
import { formatBytes, plural } from "../format.ts";
import type { Reply } from "../reply.ts";
import { globalRequest, moduleName, session } from "../session.ts";
import { go, state } from "../state.ts";

/* A request about leaks: suppressed ones are left out. */
export function leaksRequest(ask: string, members: Record<string, unknown> = {}): Request {
	const { filters, suppressed } = state.value;

	return globalRequest(ask, {
		...members,
		filters: [...filters, ...suppressed.map((text) => `suppress:${text}`)],
	});
}

export function suppress(pattern: string): void {
	const { suppressed } = state.peek();

	if (pattern && !suppressed.includes(pattern)) go({ suppressed: [...suppressed, pattern] });
}

const UNKNOWN_KIND = 5; /* code without a name has its module only */

/* A pattern for the functions of this name.  In patterns, * is any text, and $ the end of the name. */
export function suppressionOf(call: number): string {
	const { full, kind, module } = session.peek()!.names.of(call);

	if (kind === UNKNOWN_KIND) return moduleName(module);
	return call ? `^${full.replace(/\$/g, "*")}$` : "";
}

const lineOf = (pattern: string) => `leak:${pattern}\n`;

export function Suppressions({ reply }: { reply: Reply<unknown> | undefined }) {
	const [isAdding, setAdding] = useState(false);
	const { suppressed } = state.value;

	return (
		<div class="filters suppressions" data-testid="suppressions">
			{suppressed.map((pattern, i) => (
				<Pattern key={pattern} pattern={pattern} reply={reply} row={i} />
			))}
			{isAdding ? (
				<PatternForm onDone={() => setAdding(false)} />
			) : (
				<button
					type="button"
					class="add"
					title="Hide a known leak"
					data-testid="add-suppression"
					onClick={() => setAdding(true)}
				>
					+ Suppression
				</button>
			)}
			{suppressed.length > 0 && (
				<button
					type="button"
					class="add"
					title="Lines of a file for allo leaks --suppressions"
					onClick={() => copy(suppressed.map(lineOf).join(""))}
				>
					Copy as a suppression file
				</button>
			)}
		</div>
	);
}

interface PatternProps {
	pattern: string;
	reply: Reply<unknown> | undefined;
	row: number;
}

function Pattern({ pattern, reply, row }: PatternProps) {
	const hidden = reply?.f64("suppressed_bytes")[row];
	const stacks = reply?.f64("suppressed_stacks")[row] ?? 0;

	return (
		<span class="chip" data-testid="suppression">
			<button type="button" class="plain" title="Copy the line" onClick={() => copy(lineOf(pattern))}>
				<span class="muted">leak:</span>
				<bdi>{pattern}</bdi>
			</button>
			{hidden !== undefined && (
				<span class="muted">
					{formatBytes(hidden)} in {plural(stacks, "stack")}
				</span>
			)}
			<button
				type="button"
				aria-label={`Remove the suppression ${pattern}`}
				onClick={() => go({ suppressed: state.peek().suppressed.filter((each) => each !== pattern) })}
			>
				{"\u00d7"}
			</button>
		</span>
	);
}

function PatternForm({ onDone }: { onDone: () => void }) {
	const [pattern, setPattern] = useState("");

	return (
		<form
			class="filter-form"
			onSubmit={(event) => {
				event.preventDefault();
				suppress(pattern.replace(/^leak:/, "").trim());
				onDone();
			}}
			onKeyDown={(event) => {
				if (event.key !== "Escape") return;
				event.stopPropagation();
				onDone();
			}}
		>
			<input
				type="text"
				aria-label="Suppression"
				placeholder="part of a function, file or module"
				value={pattern}
				ref={(input) => input?.focus()}
				onInput={(event) => setPattern(event.currentTarget.value)}
			/>
			<button type="submit">Hide</button>
		</form>
	);
}
