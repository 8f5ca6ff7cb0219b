/* call_actions.ts - what can be done with a function, from a context menu or by key. */

import { formatShare, formatValue } from "./format.ts";
import { hasSource } from "./report.ts";
import { metric, moduleName, session, unknownAsks } from "./session.ts";
import type { MenuItem } from "./shell/menu.tsx";
import { addFilter, go, state } from "./state.ts";

export interface CallAction {
	key: string;
	title: string;
	group: string;
	run: (call: number) => void;
	isServerOnly?: boolean;
}

const nameOf = (call: number) => session.peek()?.names.of(call);

/* A pattern that matches this function alone. */
export const exactly = (call: number) => `fn:=${nameOf(call)?.name ?? ""}`;

export const CALL_ACTIONS: CallAction[] = [
	{
		key: "f",
		title: "Focus: only stacks with it",
		group: "filter",
		run: (call) => addFilter(`focus:${exactly(call)}`),
	},
	{
		key: "i",
		title: "Ignore: no stacks with it",
		group: "filter",
		run: (call) => addFilter(`ignore:${exactly(call)}`),
	},
	{
		key: "h",
		title: "Hide: remove its frames",
		group: "filter",
		run: (call) => addFilter(`hide:${exactly(call)}`),
	},
	{
		key: "H",
		title: "Hide its module",
		group: "filter",
		run: (call) => addFilter(`hide:mod:${moduleName(nameOf(call)?.module ?? 0)}`),
	},
	{
		key: "o",
		title: "Callers and callees (sandwich)",
		group: "go",
		run: (call) => go({ view: "sandwich", call }),
	},
	{
		key: "l",
		title: "Source code",
		group: "go",
		isServerOnly: true,
		run: (call) => {
			/* The line belongs to the selected function. */
			const { call: selected, line } = state.peek();
			go({ view: "source", call, path: nameOf(call)?.file ?? "", line: call === selected ? line : 0 });
		},
	},
	{ key: "k", title: "Blocks that it allocated", group: "go", run: (call) => go({ view: "blocks", call }) },
	{ key: "y", title: "Copy its full name", group: "copy", run: (call) => copy(nameOf(call)?.full ?? "") },
];

/* Whether the page can show source files. */
export const canShowSource = (): boolean =>
	hasSource() || (session.peek()?.engine.isServer === true && !unknownAsks.peek().includes("source"));

/* The line in "app.cpp:13". */
export const lineOf = (place: string): number => Number(/:(\d+)$/.exec(place)?.[1] ?? 0);

export function copy(text: string): void {
	void navigator.clipboard?.writeText(text).catch(() => undefined);
}

export function callMenu(call: number): MenuItem[] {
	let group = "";

	return CALL_ACTIONS.filter((action) => !action.isServerOnly || canShowSource()).map((action) => {
		const isFirst = action.group !== group;
		group = action.group;
		return { label: action.title, key: action.key, isFirst, run: () => action.run(call) };
	});
}

/* "201.3 MiB, 48.8% of all". */
export const valueOfAll = (value: number, whole: number): string =>
	`${formatValue(value, metric.value.unit)}, ${formatShare(value, whole)} of all`;
