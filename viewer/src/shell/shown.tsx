/* shown.tsx - the states of a view that are not its data: loading, failed, missing data, filtered away. */
import type { ComponentChildren } from "preact";
import type { DataKind } from "../engine.ts";
import type { AskError, Reply } from "../reply.ts";
import { files, forgetReplies, hasBefore, session } from "../session.ts";
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

	if (session.value?.open.has.comparison)
		return <MissingInComparison data={lack?.data ?? data} title={title} needs={lack?.needs} />;
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

/* A comparison has the data that both of its files have. */
function MissingInComparison({ data, title, needs }: { data: string; title: string; needs?: string }) {
	return (
		<div class="notice" data-testid="missing">
			<h2>{title} needs data that this comparison does not have.</h2>
			<p>At least one of the two files has no {data}.</p>
			{needs && (
				<p>
					<code>{needs}</code> provides it; compare two such files with <code>allo view NEW OLD</code>
				</p>
			)}
			{files.value.length > 1 && (
				<button type="button" onClick={() => go({ file: 0, base: undefined, zoom: [], call: 0 })}>
					Show {files.value[0]!.name} alone
				</button>
			)}
		</div>
	);
}

export function ServerOnly({ title, command, option }: { title: string; command: string; option?: string }) {
	const { isServer } = session.value!.engine;

	return (
		<div class="notice" data-testid="server-only">
			<h2>{title} needs the files of the machine.</h2>
			<p>
				This {isServer ? "server shows" : "report has"} none of them. Open the recording with{" "}
				<code>{command}</code>
				{option && !isServer && (
					<>
						, or write the report with <code>{option}</code>
					</>
				)}
			</p>
		</div>
	);
}

/* For data without a counterpart in the base: `subject` names them, `shown` the ones on screen. */
export function NotCompared({
	subject,
	shown,
	instead,
}: {
	subject: string;
	shown: string;
	instead: string;
}) {
	const isPair = session.value!.open.has.comparison;

	if (!hasBefore.value) return null;
	return (
		<p class="banner-line" role="note" data-testid="not-compared">
			{subject} not compared: {shown} of{" "}
			{isPair ? <bdi>{files.value[0]?.name ?? "the new file"}</bdi> : "the selected time, not of the base"}.{" "}
			{instead}
		</p>
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
