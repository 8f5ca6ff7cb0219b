/* shown.tsx - the states of a view that are not its data: loading, failed, missing data, filtered away. */
import type { ComponentChildren } from "preact";
import type { DataKind } from "../engine.ts";
import type { AskError, Reply } from "../reply.ts";
import { forgetReplies, session } from "../session.ts";
import { go, state } from "../state.ts";
import type { Asked } from "../use_ask.ts";

export function Shown<Head>({
	asked,
	children,
}: {
	asked: Asked<Head>;
	children: (reply: Reply<Head>) => ComponentChildren;
}) {
	if (asked.error && asked.error.code !== "gone") return <Failed error={asked.error} />;
	if (!asked.reply) return <Skeleton />;
	return (
		<div class={`shown${asked.isBusy ? " is-busy" : ""}`} aria-busy={asked.isBusy}>
			{children(asked.reply)}
		</div>
	);
}

function Skeleton() {
	return (
		<div class="skeleton" role="status" aria-label="Loading">
			<div />
			<div />
			<div />
			<div />
		</div>
	);
}

export function Failed({ error }: { error: AskError }) {
	return (
		<div class="notice" role="alert">
			<h2>{error.message}</h2>
			{error.hint && <p>{error.hint}</p>}
			<button type="button" onClick={forgetReplies}>
				Try again
			</button>
		</div>
	);
}

/* Data that the file lacks, with the command that records it. */
export function Missing({ data, title }: { data: DataKind | string; title: string }) {
	const lack = session.value?.open.lacks.find((each) => each.name === data);
	const format = session.value?.open.file.format;

	return (
		<div class="notice" data-testid="missing">
			<h2>{title} needs data that this file does not have.</h2>
			<p>
				{format ? `Files of the format ${format} have` : "This file has"} no {lack?.data ?? data}.
			</p>
			{lack?.needs && (
				<p>
					Record it with <code>{lack.needs}</code>
				</p>
			)}
		</div>
	);
}

export function ServerOnly({ title, command }: { title: string; command: string }) {
	return (
		<div class="notice" data-testid="server-only">
			<h2>{title} needs the files of the machine.</h2>
			<p>
				A report holds the recording alone. Open it with <code>{command}</code>
			</p>
		</div>
	);
}

/* Nothing to show: names the filters or the selection that hide it. */
export function Nothing({ text }: { text: string }) {
	const { filters, time } = state.value;

	return (
		<div class="notice" data-testid="nothing">
			<h2>{text}</h2>
			{filters.length > 0 && (
				<p>
					The filters {filters.join(", ")} may hide it.{" "}
					<button type="button" onClick={() => go({ filters: [] })}>
						Remove all filters
					</button>
				</p>
			)}
			{time && (
				<p>
					Only a part of the time is selected.{" "}
					<button type="button" onClick={() => go({ time: undefined })}>
						Select the whole run
					</button>
				</p>
			)}
		</div>
	);
}
