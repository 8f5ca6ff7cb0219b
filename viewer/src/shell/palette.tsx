/* palette.tsx - the command palette: every key's action, metrics, marks, and functions by name. */
import { useState } from "preact/hooks";
import { formatValue } from "../format.ts";
import { metricTitle } from "../metric_title.ts";
import { globalRequest, metric, session } from "../session.ts";
import { go } from "../state.ts";
import { allMarks } from "../strip/time_moves.ts";
import { useAsk } from "../use_ask.ts";
import { Dialog } from "./dialog.tsx";
import { dialog } from "./dialogs.ts";
import { KEYS } from "./keys.ts";

interface Command {
	title: string;
	note: string;
	run: () => void;
}

const MOST = 14;

function commands(): Command[] {
	const metrics = session.value?.open.metrics ?? [];

	return [
		...KEYS.map(({ title, keys, run }) => ({ title, note: keys.join(" "), run })),
		...metrics.map(({ name, title }) => ({
			title: `Metric: ${metricTitle(name)}`,
			note: title,
			run: () => go({ metric: name }),
		})),
		...allMarks().map(({ ns, name }) => ({
			title: `Go to mark ${name}`,
			note: formatValue(ns, "ns"),
			run: () => go({ time: { from: ns, to: ns + 1 } }),
		})),
	];
}

/* All words occur, in any order. */
function fits(title: string, typed: string): boolean {
	const text = title.toLowerCase();

	return typed
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word));
}

function useFunctions(typed: string): Command[] {
	const request = typed.length > 1 ? globalRequest("search", { text: typed, most: MOST }) : undefined;
	const { reply } = useAsk<{ matches: number }>(request, ["call"]);
	const names = session.value?.names;
	const totals = reply?.f64("total");

	if (!reply || !names || !request) return [];
	return [...reply.u32("call")].map((call, i) => ({
		title: names.of(call).name,
		note: formatValue(totals?.[i] ?? 0, metric.value.unit),
		run: () => go({ view: "sandwich", call }),
	}));
}

export function CommandPalette() {
	return dialog.open.value === "palette" ? <Palette /> : null;
}

function Palette() {
	const [typed, setTyped] = useState("");
	const [current, setCurrent] = useState(0);
	const functions = useFunctions(typed);
	const found = [...commands().filter(({ title }) => fits(title, typed)), ...functions].slice(0, MOST);
	const run = (command: Command | undefined) => {
		dialog.close();
		command?.run();
	};

	return (
		<Dialog title="Commands">
			<input
				class="palette-input"
				type="text"
				autofocus
				role="combobox"
				aria-expanded="true"
				aria-controls="palette-list"
				aria-activedescendant={`palette-${current}`}
				aria-label="Command or function"
				placeholder="View, metric, filter, mark or function"
				value={typed}
				onInput={(event) => {
					setTyped(event.currentTarget.value);
					setCurrent(0);
				}}
				onKeyDown={(event) => {
					const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
					if (step) setCurrent((current + step + found.length) % Math.max(1, found.length));
					else if (event.key === "Enter") run(found[current]);
					else return;
					event.preventDefault();
				}}
			/>
			<div id="palette-list" role="listbox" aria-label="Commands" class="palette-list">
				{found.map((command, i) => (
					<div
						key={`${command.title} ${command.note}`}
						id={`palette-${i}`}
						role="option"
						aria-selected={i === current}
						class={i === current ? "is-current" : ""}
						onClick={() => run(command)}
					>
						<bdi>{command.title}</bdi>
						<kbd>{command.note}</kbd>
					</div>
				))}
			</div>
			<div class="hidden" role="status">
				{found.length} commands
			</div>
		</Dialog>
	);
}
