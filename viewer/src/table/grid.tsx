/*
 * grid.tsx - a table of any length: only the rows on screen exist.
 *
 * All rows have one height, so the position of a row is a product.  Focus stays on the grid; the current row is its
 * active descendant.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useFirstFocus } from "../shell/first_focus.ts";
import { isMenuKey } from "../shell/menu.tsx";
import { isNarrow } from "../theme.ts";
import { useSize } from "../use_size.ts";

export const ROW_HEIGHT = 26;
const SPARE_ROWS = 6; /* drawn above and below the visible ones */

export interface Column {
	key: string;
	title: string;
	hint?: string;
	width: string; // a track of CSS grid
	isNumber?: boolean;
	isOptional?: boolean; // hidden on narrow screens
	leastWidth?: number; // hidden in narrower tables
	sort?: string; // name for onSort
	cell: (row: number) => ComponentChildren;
}

export interface GridProps {
	label: string;
	testId: string;
	columns: Column[];
	rows: number;
	startRow?: number; // the current row, until another one is selected
	sort?: string;
	isAscending?: boolean;
	onSort?: (sort: string) => void;
	onRange?: (first: number, last: number) => void;
	onSelect?: (row: number) => void;
	onOpen?: (row: number) => void;
	onMenu?: (row: number, x: number, y: number) => void;
	onKey?: (key: string, row: number) => boolean;
	isMarked?: (row: number) => boolean;
	empty?: ComponentChildren;
	role?: "grid" | "treegrid";
	rowAttributes?: (row: number) => Record<string, unknown>;
}

export function Grid(props: GridProps) {
	const scroller = useRef<HTMLDivElement>(null);
	const [top, setTop] = useState(0);
	const [current, setCurrent] = useState(props.startRow ?? 0);
	const size = useSize(scroller);
	const columns = props.columns.filter(
		({ isOptional, leastWidth = 0 }) => (!isOptional || !isNarrow.value) && !(size.width < leastWidth),
	);
	const template = columns.map((column) => column.width).join(" ");
	const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE_ROWS);
	const last = Math.min(props.rows, Math.ceil((top + size.height) / ROW_HEIGHT) + SPARE_ROWS);
	const chosen = Math.min(current, Math.max(0, props.rows - 1));

	useFirstFocus(scroller);
	useEffect(() => {
		setCurrent(props.startRow ?? 0);
		reveal(scroller.current!, props.startRow ?? 0);
	}, [props.startRow]);
	useEffect(() => {
		/* In the middle, with the rows around it. */
		if (props.startRow) scroller.current!.scrollTop = props.startRow * ROW_HEIGHT - size.height / 2;
	}, [size.height > 0]);
	useEffect(() => props.onRange?.(first, last), [first, last, props.rows]);
	const select = (row: number) => {
		const next = Math.max(0, Math.min(props.rows - 1, row));
		setCurrent(next);
		props.onSelect?.(next);
		reveal(scroller.current!, next);
	};

	return (
		<div class="grid-box">
			<div
				class="grid"
				ref={scroller}
				role={props.role ?? "grid"}
				tabIndex={0}
				aria-label={props.label}
				aria-rowcount={props.rows + 1}
				aria-colcount={columns.length}
				aria-activedescendant={props.rows > 0 ? `${props.testId}-row-${chosen}` : undefined}
				data-testid={props.testId}
				onScroll={(event) => setTop(event.currentTarget.scrollTop)}
				onKeyDown={(event) => {
					if (event.target !== event.currentTarget || !gridKey(event, chosen, size.height, props, select))
						return;
					event.preventDefault();
					event.stopPropagation();
				}}
			>
				<Head {...props} columns={columns} template={template} />
				<div class="grid-space" role="rowgroup" style={{ height: `${props.rows * ROW_HEIGHT}px` }}>
					{Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i).map((row) => (
						<div
							key={row}
							id={`${props.testId}-row-${row}`}
							class={`grid-row${row === chosen ? " is-current" : ""}${props.isMarked?.(row) ? " is-marked" : ""}`}
							role="row"
							aria-rowindex={row + 2}
							aria-selected={row === chosen}
							style={{ gridTemplateColumns: template, top: `${row * ROW_HEIGHT}px` }}
							onClick={() => select(row)}
							onDblClick={() => props.onOpen?.(row)}
							onContextMenu={(event) => {
								event.preventDefault();
								select(row);
								props.onMenu?.(row, event.clientX, event.clientY);
							}}
							{...props.rowAttributes?.(row)}
						>
							{columns.map((column) => (
								<div key={column.key} role="gridcell" class={column.isNumber ? "number" : "text"}>
									{column.cell(row)}
								</div>
							))}
						</div>
					))}
				</div>
			</div>
			{props.rows === 0 && <div class="empty">{props.empty ?? "No rows."}</div>}
		</div>
	);
}

function Head(props: GridProps & { template: string }) {
	return (
		<div class="grid-head" role="rowgroup">
			<div class="grid-row" role="row" aria-rowindex={1} style={{ gridTemplateColumns: props.template }}>
				{props.columns.map((column) => {
					const isSorted = column.sort !== undefined && column.sort === props.sort;
					const order = props.isAscending ? "ascending" : "descending";
					return (
						<div
							key={column.key}
							role="columnheader"
							class={column.isNumber ? "number" : "text"}
							aria-sort={isSorted ? order : undefined}
							title={column.hint}
						>
							{column.sort !== undefined && props.onSort ? (
								<button type="button" class="plain" onClick={() => props.onSort?.(column.sort!)}>
									{column.title}
									{isSorted && <span aria-hidden="true">{props.isAscending ? " \u2191" : " \u2193"}</span>}
								</button>
							) : (
								column.title
							)}
						</div>
					);
				})}
			</div>
		</div>
	);
}

/* Handles a key; false if it means nothing here. */
function gridKey(
	event: KeyboardEvent,
	row: number,
	height: number,
	props: GridProps,
	select: (row: number) => void,
): boolean {
	const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 2);
	const moves: Record<string, number> = {
		ArrowUp: row - 1,
		ArrowDown: row + 1,
		PageUp: row - page,
		PageDown: row + page,
		Home: 0,
		End: props.rows - 1,
	};
	const next = moves[event.key];

	if (props.rows === 0) return false;
	if (next !== undefined) select(next);
	else if (event.key === "Enter" && props.onOpen) props.onOpen(row);
	else if (isMenuKey(event) && props.onMenu) props.onMenu(row, 80, 200);
	else return props.onKey?.(event.key, row) ?? false;
	return true;
}

/* Scrolls so that a row is visible below the head. */
function reveal(scroller: HTMLElement, row: number): void {
	const top = row * ROW_HEIGHT;
	const room = scroller.clientHeight - ROW_HEIGHT;

	if (top < scroller.scrollTop) scroller.scrollTop = top;
	else if (top + ROW_HEIGHT > scroller.scrollTop + room) scroller.scrollTop = top + ROW_HEIGHT - room;
}
