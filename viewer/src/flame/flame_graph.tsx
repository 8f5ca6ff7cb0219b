/*
 * flame_graph.tsx - a flame graph with pointer, keyboard and a parallel accessible tree.
 *
 * The canvas is as large as the viewport and stays in place while its container scrolls, so stacks may be 100,000
 * frames deep.  Pointer movements draw at once; everything else at most once a frame.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { callMenu } from "../call_actions.ts";
import { formatChange, formatCount, formatFactor, formatShare, formatValue, plural } from "../format.ts";
import { matcherOf } from "../pattern.ts";
import { ageUnit, metric, moduleName, session } from "../session.ts";
import { cursorDetails, type Details, hoverDetails } from "../shell/details.tsx";
import { useFirstFocus } from "../shell/first_focus.ts";
import { isMenuKey, openMenu } from "../shell/menu.tsx";
import { go } from "../state.ts";
import { palette } from "../theme.ts";
import { fitCanvas, useSize } from "../use_size.ts";
import { ageText, colourTree } from "./colours.ts";
import { childrenOf, findPath, hit, levelsOf, pathTo, type Tree } from "./layout.ts";
import { FlamePainter, type FlamePicture, ROW, rowAt, rowTop } from "./painter.ts";

export interface FlameGraphProps {
	tree: Tree;
	whole: number; // sum of all samples
	zoom: number[];
	onZoom: (path: number[]) => void;
	search: string;
	isUpward: boolean;
	colour: string;
	label: string;
	rootName: string;
	isBare?: boolean; // without the calls above the zoomed one
	testId: string;
}

/* The node that fills the view, and the calls above it: the root of all, then all calls of the path but the last. */
function viewOf({ tree, zoom, isBare }: FlameGraphProps): { root: number; ancestors: number[] } {
	const root = findPath(tree, 0, zoom) ?? 0;

	return { root, ancestors: root === 0 || isBare ? [] : [0, ...zoom.slice(0, -1)] };
}

/* Nodes whose call matches, by node. */
function matchesOf(tree: Tree, search: string): Uint8Array | undefined {
	const matcher = matcherOf(search);
	const names = session.peek()?.names;
	if (!matcher || !names) return undefined;
	const known = new Map<number, number>();
	return Uint8Array.from(tree.call, (call) => {
		let match = known.get(call);
		if (match === undefined) {
			const name = names.of(call);
			match = call !== 0 && matcher(name, moduleName(name.module)) ? 1 : 0;
			known.set(call, match);
		}
		return match;
	});
}

export function FlameGraph(props: FlameGraphProps) {
	const { tree, search, isUpward, colour, whole } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const painter = useRef<FlamePainter | undefined>(undefined);
	const hovered = useRef<number | undefined>(undefined);
	const cursorPath = useRef<number[]>(props.zoom);
	const [, redraw] = useState(0);
	const size = useSize(scroller);
	const names = session.value!.names;
	const { unit } = metric.value;
	const { root, ancestors } = useMemo(() => viewOf(props), [tree, props.zoom]);
	const rows = useMemo(() => levelsOf(tree, root) + ancestors.length, [tree, root, ancestors]);
	const matches = useMemo(() => matchesOf(tree, search), [tree, search]);
	useFirstFocus(scroller);
	const colouring = useMemo(
		() => colourTree(tree, colour, names, palette.value, moduleName, ageUnit() ?? "ns"),
		[tree, colour, palette.value],
	);
	const cursor = findPath(tree, 0, cursorPath.current);
	const height = rows * ROW;

	const nameOf = (node: number) => {
		if (node < 0) return `+ ${formatCount(tree.leftOut[~node]!)} more`;
		return tree.call[node] === 0 && node === 0 ? props.rootName : names.of(tree.call[node]!).name;
	};
	const ancestorName = (call: number) => (call === 0 ? props.rootName : names.of(call).name);
	const picture = (): FlamePicture => ({
		tree,
		root,
		ancestors,
		colouring,
		palette: palette.peek(),
		width: size.width,
		height: size.height,
		scroll: scroller.current?.scrollTop ?? 0,
		content: Math.max(height, size.height),
		isUpward,
		hovered: hovered.current,
		cursor: document.activeElement === scroller.current ? cursor : undefined,
		matches,
		nameOf,
		ancestorName,
		noteOf: (node) => `${formatValue(tree.total[node]!, unit)} ${formatShare(tree.total[node]!, whole)}`,
	});
	const paint = () => {
		const element = canvas.current;
		const g = element?.getContext("2d", { alpha: false });
		if (!element || !g || size.width === 0) return;
		painter.current ??= new FlamePainter(g);
		painter.current.paint(picture(), fitCanvas(element, size));
	};
	const paintRef = useRef(paint);
	paintRef.current = paint;

	const describe = (node: number): Details => describeNode(props, node, nameOf);
	const at = (event: { offsetX: number; offsetY: number }): number | undefined => {
		const row = rowAt(picture(), event.offsetY) - ancestors.length;
		if (row < 0) return undefined;
		return hit(tree, root, row, event.offsetX / size.width);
	};
	const ancestorAt = (event: { offsetY: number }) => {
		const row = rowAt(picture(), event.offsetY);
		return row >= 0 && row < ancestors.length ? row : undefined;
	};
	const zoomTo = (node: number) => props.onZoom(pathTo(tree, node < 0 ? ~node : node));
	const moveTo = (node: number) => {
		cursorPath.current = pathTo(tree, node);
		cursorDetails.value = describe(node);
		hovered.current = undefined;
		go({ call: tree.call[node]! }, { replace: true });
		reveal(scroller.current!, rowTop(picture(), tree.depth[node]! - tree.depth[root]! + ancestors.length));
		redraw((n) => n + 1);
	};

	/* In the next frame: other effects run after it. */
	useLayoutEffect(() => {
		const frame = requestAnimationFrame(() => paintRef.current());
		return () => cancelAnimationFrame(frame);
	});
	useEffect(() => {
		hovered.current = undefined;
		hoverDetails.value = undefined;
		if (isUpward && scroller.current) scroller.current.scrollTop = height;
	}, [tree, root, isUpward]);
	useEffect(() => clearHover, []);

	const focused = cursor ?? root;
	return (
		<div
			class="flame"
			ref={scroller}
			data-testid={props.testId}
			role="tree"
			tabIndex={0}
			aria-label={props.label}
			aria-activedescendant={`${props.testId}-node`}
			onScroll={() => paint()}
			onFocus={() => redraw((n) => n + 1)}
			onBlur={() => redraw((n) => n + 1)}
			onKeyDown={(event) => {
				const next = keyTarget(event.key, tree, focused, root, isUpward);
				if (event.key === "Enter") zoomTo(focused);
				else if (event.key === "Backspace") props.onZoom(props.zoom.slice(0, -1));
				else if (isMenuKey(event)) nodeMenu(props, focused, 80, 200, zoomTo, nameOf);
				else if (next !== undefined) moveTo(next);
				else return;
				event.preventDefault();
				event.stopPropagation();
			}}
		>
			<div class="flame-space" style={{ height: `${height}px` }}>
				<canvas
					class="flame-canvas"
					ref={canvas}
					aria-hidden="true"
					onPointerMove={(event) => {
						const node = at(event);
						event.currentTarget.style.cursor =
							node !== undefined || ancestorAt(event) !== undefined ? "pointer" : "default";
						if (node === hovered.current) return;
						hovered.current = node;
						hoverDetails.value = node === undefined ? undefined : describe(node);
						paint();
					}}
					onPointerLeave={() => {
						hovered.current = undefined;
						hoverDetails.value = undefined;
						paint();
					}}
					onClick={(event) => {
						const above = ancestorAt(event);
						const node = at(event);
						if (above !== undefined) props.onZoom(props.zoom.slice(0, above));
						else if (node !== undefined && node < 0) zoomTo(node);
						else if (node !== undefined) moveTo(node);
					}}
					onDblClick={(event) => {
						const node = at(event);
						if (node !== undefined) zoomTo(node);
					}}
					onContextMenu={(event) => {
						const node = at(event);
						event.preventDefault();
						if (node !== undefined && node >= 0)
							nodeMenu(props, node, event.clientX, event.clientY, zoomTo, nameOf);
					}}
				/>
			</div>
			<div
				class="hidden"
				role="treeitem"
				id={`${props.testId}-node`}
				aria-label={spoken(props, focused, nameOf)}
				aria-level={(tree.depth[focused] ?? 0) + 1}
				aria-selected="true"
				aria-expanded={tree.end[focused]! > focused + 1}
			/>
		</div>
	);
}

function nodeMenu(
	{ tree, zoom, onZoom }: FlameGraphProps,
	node: number,
	x: number,
	y: number,
	zoomTo: (node: number) => void,
	nameOf: (node: number) => string,
): void {
	const call = tree.call[node]!;
	const items = [{ label: "Zoom in", key: "Enter", run: () => zoomTo(node) }];

	if (zoom.length > 0)
		items.push({ label: "Zoom out", key: "Backspace", run: () => onZoom(zoom.slice(0, -1)) });
	openMenu({ x, y, title: nameOf(node), items: call === 0 ? items : [...items, ...callMenu(call)] });
}

/* "+1.20 MiB (new) against the base". */
const changeText = (total: number, before: number, unit: string) =>
	`${formatChange(total - before, unit)} (${formatFactor(total, before)}) against the base`;

function describeNode(props: FlameGraphProps, node: number, nameOf: (node: number) => string): Details {
	const { tree, whole } = props;
	const { unit } = metric.peek();
	const names = session.peek()!.names;

	if (node < 0) {
		const value = tree.leftOutValue[~node]!;
		const parts = [
			`${formatValue(value, unit)} in all, ${formatShare(value, whole)} of all`,
			"too narrow to draw; click to open",
		];
		return { title: `${plural(tree.leftOut[~node]!, "smaller callee")} of ${nameOf(~node)}`, parts };
	}
	const [total, self] = [tree.total[node]!, tree.self[node]!];
	const call = tree.call[node]!;
	const { full, module } = names.of(call);
	const parts = [`${formatValue(total, unit)}, ${formatShare(total, whole)} of all`];
	if (node > 0) parts.push(`${formatShare(total, tree.total[tree.parent[node]!]!)} of its caller`);
	parts.push(`own ${formatValue(self, unit)}`);
	if (tree.before) parts.push(changeText(total, tree.before[node]!, unit));
	if (tree.age) parts.push(ageText(tree.age[node]!, ageUnit() ?? "ns"));
	if (call !== 0) parts.push(moduleName(module));
	const line = tree.line[node]!;
	const place =
		line > 0 && names.of(call).file ? `${baseName(names.of(call).file)}:${line}` : names.place(call);
	return { title: call === 0 ? nameOf(node) : full, place, parts: parts.filter(Boolean) };
}

function clearHover(): void {
	hoverDetails.value = undefined;
}

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/* "parse_body, 201.3 MiB, 48.8% of all, 3 children, level 6". */
function spoken(props: FlameGraphProps, node: number, nameOf: (node: number) => string): string {
	const { tree } = props;
	const children = childrenOf(tree, node).length + (tree.leftOut[node] ?? 0);
	const value = tree.total[node] ?? 0;
	const { unit } = metric.peek();
	const change = tree.before ? `, ${changeText(value, tree.before[node] ?? 0, unit)}` : "";
	const numbers = `${formatValue(value, unit)}, ${formatShare(value, props.whole)} of all${change}`;

	return `${nameOf(node)}, ${numbers}, ${children === 1 ? "1 child" : `${children} children`}`;
}

/* The node that an arrow key leads to. */
function keyTarget(
	key: string,
	tree: Tree,
	node: number,
	root: number,
	isUpward: boolean,
): number | undefined {
	const isDown = key === (isUpward ? "ArrowUp" : "ArrowDown");
	const isUp = key === (isUpward ? "ArrowDown" : "ArrowUp");

	if (isUp) return node === root ? undefined : tree.parent[node];
	if (isDown) return node + 1 < tree.end[node]! ? node + 1 : undefined;
	if (key === "Home") return root;
	if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
	const siblings = node === root ? [] : childrenOf(tree, tree.parent[node]!);
	return siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
}

/* Scrolls so that a row at `y` of the viewport is visible. */
function reveal(scroller: HTMLElement, y: number): void {
	if (y < 0) scroller.scrollTop += y;
	else if (y + ROW > scroller.clientHeight) scroller.scrollTop += y + ROW - scroller.clientHeight;
}
