/* views.ts - the table of views: navigation, number keys, palette and tests walk it. */
import type { ComponentType } from "preact";
import type { DataKind } from "../engine.ts";
import { hasSource } from "../report.ts";
import { BlocksView } from "./blocks.tsx";
import { FlameView } from "./flame.tsx";
import { LeaksView } from "./leaks.tsx";
import { LifetimesView } from "./lifetimes.tsx";
import { Overview } from "./overview.tsx";
import { SandwichView } from "./sandwich.tsx";
import { SizesView } from "./sizes.tsx";
import { SourceView } from "./source.tsx";
import { SqlView } from "./sql.tsx";
import { TableView } from "./table.tsx";
import { ThreadsView } from "./threads.tsx";
import { TreeView } from "./tree.tsx";

export interface View {
	name: string;
	title: string;
	component: ComponentType;
	isOfMetric?: boolean; // shows the chosen metric
	needs?: DataKind; // of the file
	isServerOnly?: string; // the command that offers it
	isInReport?: () => boolean; // unless the report has its data
	reportOption?: string; // which writes such a report
}

export const VIEWS: View[] = [
	{ name: "overview", title: "Overview", component: Overview },
	{ name: "flame", title: "Flame", component: FlameView, isOfMetric: true },
	{ name: "table", title: "Table", component: TableView, isOfMetric: true },
	{ name: "tree", title: "Tree", component: TreeView, isOfMetric: true },
	{ name: "sandwich", title: "Sandwich", component: SandwichView, isOfMetric: true },
	{ name: "leaks", title: "Leaks", component: LeaksView },
	{ name: "sizes", title: "Sizes", component: SizesView, needs: "sizes" },
	{ name: "lifetimes", title: "Lifetimes", component: LifetimesView, needs: "blocks" },
	{ name: "threads", title: "Threads", component: ThreadsView, needs: "threads" },
	{ name: "blocks", title: "Blocks", component: BlocksView, needs: "blocks" },
	{
		name: "source",
		title: "Source",
		component: SourceView,
		isOfMetric: true,
		isServerOnly: "allo view FILE",
		isInReport: hasSource,
		reportOption: "--with-source",
	},
	{ name: "sql", title: "SQL", component: SqlView, isServerOnly: "allo view FILE" },
];

export const viewOf = (wanted: string): View => VIEWS.find(({ name }) => name === wanted) ?? VIEWS[0]!;
