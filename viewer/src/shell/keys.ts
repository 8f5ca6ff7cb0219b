/* keys.ts - the keyboard: one table for the handler, the help sheet and the command palette. */
import { CALL_ACTIONS } from "../call_actions.ts";
import { COLOUR_MODES } from "../flame/colours.ts";
import { isFrozen } from "../live.ts";
import { refresh, session, stepMetric } from "../session.ts";
import { go, state, toggleFilter } from "../state.ts";
import {
	goToEnd,
	goToPeak,
	panWindow,
	setBase,
	sinceMark,
	wholeRange,
	zoomWindow,
} from "../strip/time_moves.ts";
import { nextTheme } from "../theme.ts";
import { VIEWS } from "../views/views.ts";
import { dialog } from "./dialogs.ts";

export interface Key {
	keys: string[];
	title: string;
	group: string;
	run: () => void;
}

const viewKeys: Key[] = VIEWS.map((view, i) => ({
	keys: i < 10 ? [String((i + 1) % 10)] : [],
	title: `Show ${view.title}`,
	group: "Views",
	run: () => go({ view: view.name }),
}));

const callKeys: Key[] = CALL_ACTIONS.map((action) => ({
	keys: [action.key],
	title: action.title,
	group: "Selected function",
	run: () => {
		const { call } = state.peek();
		if (call !== 0) action.run(call);
	},
}));

function addMark(): void {
	const { to } = wholeRange();
	go({ marks: [...state.peek().marks, to] });
}

/* One thing at a time: search, then selection of time, then zoom. */
function clearOne(): void {
	const { search, zoom, time } = state.peek();
	if (search) go({ search: "" });
	else if (zoom.length > 0) go({ zoom: [] });
	else if (time) go({ time: undefined });
}

/* The link of the next finding, to its line if possible: Enter opens it. */
function nextFinding(): void {
	const all = [...document.querySelectorAll("#findings .finding")].flatMap(
		(finding) => finding.querySelector("a") ?? [],
	);
	const at = all.indexOf(document.activeElement as HTMLAnchorElement);

	all[(at + 1) % all.length]?.focus();
}

export const KEYS: Key[] = [
	{ keys: ["?"], title: "Show all keys", group: "General", run: () => dialog.toggle("help") },
	{ keys: [":", "Ctrl-k"], title: "Command palette", group: "General", run: () => dialog.toggle("palette") },
	{
		keys: ["/"],
		title: "Search",
		group: "General",
		run: () => document.querySelector<HTMLInputElement>("#search")?.focus(),
	},
	{ keys: ["Escape"], title: "Clear search, zoom, selection of time", group: "General", run: clearOne },
	{ keys: ["z"], title: "Undo (Back)", group: "General", run: () => history.back() },
	{ keys: ["Z"], title: "Redo (Forward)", group: "General", run: () => history.forward() },
	{ keys: ["T"], title: "Next theme", group: "General", run: nextTheme },
	...viewKeys,
	{ keys: ["["], title: "Previous metric", group: "Data", run: () => stepMetric(-1) },
	{ keys: ["]"], title: "Next metric", group: "Data", run: () => stepMetric(1) },
	{ keys: ["n"], title: "Next finding; next line with a cost", group: "Data", run: nextFinding },
	{ keys: ["m"], title: "My code only", group: "Data", run: () => toggleFilter("mine") },
	{ keys: ["b"], title: "Compare with the selected time", group: "Data", run: setBase },
	{ keys: ["B"], title: "End the comparison", group: "Data", run: () => go({ base: undefined }) },
	{ keys: ["p"], title: "Peak of the selection", group: "Time", run: () => void goToPeak() },
	{ keys: ["P"], title: "Peak of the run", group: "Time", run: () => void goToPeak(wholeRange()) },
	{ keys: ["e"], title: "End of the run", group: "Time", run: goToEnd },
	{
		keys: ["R"],
		title: "Select the whole run",
		group: "Time",
		run: () => go({ time: undefined, window: undefined }),
	},
	{ keys: ["+", "w"], title: "Zoom the timeline in", group: "Time", run: () => zoomWindow(0.6) },
	{ keys: ["-", "s"], title: "Zoom the timeline out", group: "Time", run: () => zoomWindow(1.7) },
	{ keys: ["a"], title: "Move the timeline left", group: "Time", run: () => panWindow(-0.25) },
	{ keys: ["d"], title: "Move the timeline right", group: "Time", run: () => panWindow(0.25) },
	{ keys: ["g"], title: "Set a mark at the end (live)", group: "Time", run: addMark },
	{ keys: ["G"], title: "Growth since the last mark", group: "Time", run: sinceMark },
	{ keys: [" "], title: "Freeze a growing recording", group: "Time", run: () => void freeze() },
	{
		keys: ["v"],
		title: "Invert: bottom-up or top-down",
		group: "Flame graph",
		run: () => go({ invert: !state.peek().invert, zoom: [] }),
	},
	{
		keys: ["x"],
		title: "Flip: icicle or flame",
		group: "Flame graph",
		run: () => go({ upward: !state.peek().upward }),
	},
	{
		keys: ["c"],
		title: "Next colours: module, own code, function, age",
		group: "Flame graph",
		run: nextColours,
	},
	...callKeys,
];

function nextColours(): void {
	const at = COLOUR_MODES.findIndex(({ name }) => name === state.peek().colour);

	go({ colour: COLOUR_MODES[(at + 1) % COLOUR_MODES.length]!.name });
}

async function freeze(): Promise<void> {
	isFrozen.value = !isFrozen.peek();
	if (!isFrozen.peek() && session.peek()?.open.growing) await refresh();
}

/* Keys that a focused view handles; listed in the help sheet. */
export const VIEW_KEYS = [
	{ keys: ["Arrows"], title: "Move between boxes or rows", group: "Flame graph" },
	{ keys: ["Enter"], title: "Zoom into the selected box; open a row", group: "Flame graph" },
	{ keys: ["Backspace"], title: "Zoom out by one call", group: "Flame graph" },
];

const isTyping = (target: EventTarget | null) =>
	target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

const nameOfKey = (event: KeyboardEvent) =>
	event.ctrlKey || event.metaKey ? `Ctrl-${event.key}` : event.key;

export function handleKey(event: KeyboardEvent): void {
	if (event.defaultPrevented || event.altKey) return;
	const name = nameOfKey(event);
	const isOnControl = event.target instanceof HTMLElement && event.target.matches("button, a, summary");
	if (isTyping(event.target) && name !== "Ctrl-k") {
		if (event.key === "Escape") (event.target as HTMLElement).blur();
		return;
	}
	if (dialog.open.peek() && name !== "Ctrl-k" && name !== "?") return;
	if (isOnControl && (event.key === " " || event.key === "Enter")) return;
	const key = KEYS.find(({ keys }) => keys.includes(name));
	if (!key || !session.peek()) return;
	event.preventDefault();
	key.run();
}
