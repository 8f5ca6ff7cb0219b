/* top_bar.tsx - file, comparison, search, share, theme and help. */
import { useRef, useState } from "preact/hooks";
import { copy } from "../call_actions.ts";
import { formatMoment, formatShare, formatValue, plural } from "../format.ts";
import { isFrozen } from "../live.ts";
import { files, globalRequest, metric, session } from "../session.ts";
import { go, state } from "../state.ts";
import { wholeRange } from "../strip/time_moves.ts";
import { nextTheme, themeChoice } from "../theme.ts";
import { useAsk } from "../use_ask.ts";
import { announcement } from "./details.tsx";
import { dialog } from "./dialogs.ts";

export function TopBar() {
	const { file } = session.value!.open;

	return (
		<header class="top">
			<span class="brand">allo</span>
			<FileName />
			<Command />
			<BaseChip />
			{session.value!.open.has.sampled && (
				<span class="badge" title="Numbers are estimates from samples">
					sampled
				</span>
			)}
			{session.value!.open.growing && <LiveBadge />}
			<Search key={file.name} />
			<ShareButton />
			<button type="button" class="tool" onClick={nextTheme} title="Theme (T)" data-testid="theme">
				<span class="wide">Theme: </span>
				{themeChoice.value}
			</button>
			<button
				type="button"
				class="tool"
				onClick={() => dialog.toggle("help")}
				aria-label="Keys"
				title="Keys (?)"
			>
				?
			</button>
		</header>
	);
}

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

function FileName() {
	const { file, program } = session.value!.open;

	if (files.value.length > 1)
		return (
			<select
				class="file"
				aria-label="File"
				value={String(state.value.file)}
				onChange={(event) =>
					go({
						file: Number(event.currentTarget.value),
						zoom: [],
						call: 0,
						base: undefined,
						time: undefined,
						window: undefined,
					})
				}
			>
				{files.value.map(({ name }, i) => (
					<option key={name} value={String(i)}>
						{name}
					</option>
				))}
			</select>
		);
	return (
		<h1 class="file" title={program?.command ? `${file.name}: ${program.command}` : file.name}>
			<bdi>{baseName(file.name)}</bdi>
		</h1>
	);
}

/* The program that was recorded. */
function Command() {
	const command = session.value!.open.program?.command;

	return command ? (
		<span class="command muted" title={command}>
			<bdi>{command}</bdi>
		</span>
	) : null;
}

/* "against 0.5 s to 1.2 s", with a button that ends the comparison. */
function BaseChip() {
	const { base } = state.value;
	if (!base) return null;
	const step = wholeRange().to / 1000;
	const isRange = base.from !== undefined && base.to !== undefined;
	const range = isRange ? `${formatMoment(base.from!, step)} to ${formatMoment(base.to!, step)}` : "";
	const isPair = session.value!.open.has.comparison;
	const name = isPair
		? (files.value[1]?.name ?? "the old file")
		: base.file !== state.value.file
			? (files.value[base.file]?.name ?? `file ${base.file + 1}`)
			: "";

	return (
		<span class="chip base" data-testid="base">
			<span class="muted">against</span> {[name, range].filter(Boolean).join(" ") || "the whole run"}
			<button type="button" aria-label="End the comparison" onClick={() => go({ base: undefined })}>
				{"\u00d7"}
			</button>
		</span>
	);
}

function LiveBadge() {
	return (
		<button
			type="button"
			class={`badge ${isFrozen.value ? "" : "is-live"}`}
			aria-pressed={isFrozen.value}
			onClick={() => {
				isFrozen.value = !isFrozen.value;
			}}
			title="Space freezes the page"
		>
			{isFrozen.value ? "frozen" : "live"}
		</button>
	);
}

/* Highlights; never changes numbers.  The result counts each stack once. */
function Search() {
	const input = useRef<HTMLInputElement>(null);
	const { search } = state.value;
	const request = search ? globalRequest("search", { text: search, most: 1 }) : undefined;
	const { reply, error } = useAsk<{ matches: number; value: number; pattern_error?: string }>(request, [], {
		isAside: true,
	});
	const whole = useAsk<{ sum: number }>(search ? globalRequest("tree", { least: 1 }) : undefined, [], {
		isAside: true,
	}).reply?.head.sum;
	const problem = reply?.head.pattern_error ?? error?.message;
	const result =
		reply && whole !== undefined && !problem
			? `${plural(reply.head.matches, "function")}, ${formatValue(reply.head.value, metric.value.unit)}, ${formatShare(reply.head.value, whole)}`
			: "";

	if (search && result && announcement.peek() !== result) announcement.value = result;
	return (
		<div class="search">
			<input
				id="search"
				ref={input}
				type="search"
				placeholder="Search  /"
				aria-label="Search functions, files and modules"
				spellcheck={false}
				value={search}
				onInput={(event) => go({ search: event.currentTarget.value }, { replace: true })}
				onKeyDown={(event) => event.key === "Enter" && input.current?.blur()}
			/>
			{search && (
				<span class={problem ? "search-result problem" : "search-result"} data-testid="search-result">
					{problem ?? result}
				</span>
			)}
		</div>
	);
}

function ShareButton() {
	const [isCopied, setCopied] = useState(false);

	return (
		<button
			type="button"
			class="tool"
			title="Copy a link to this screen"
			onClick={() => {
				copy(location.href);
				setCopied(true);
				setTimeout(() => setCopied(false), 1200);
			}}
		>
			{isCopied ? (
				"Copied"
			) : (
				<>
					<span class="wide">Copy </span>link
				</>
			)}
		</button>
	);
}
