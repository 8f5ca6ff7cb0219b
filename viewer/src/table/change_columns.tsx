/* change_columns.tsx - the columns of a comparison: the value before, and the change with its sign. */
import { formatValue } from "../format.ts";
import { Change } from "./cells.tsx";
import type { Column } from "./grid.tsx";

export interface Compared {
	key: string;
	title?: string; // of what; the columns of a table with one value need none
	unit: string;
	after: (row: number) => number;
	before: (row: number) => number;
	sort?: string;
}

export function changeColumns({ key, title = "", unit, after, before, sort }: Compared): Column[] {
	const named = (word: string) => (title ? `${title} ${word}` : word[0]!.toUpperCase() + word.slice(1));

	return [
		{
			key: `before ${key}`,
			title: named("before"),
			hint: "The value of the base",
			width: title ? "6.5rem" : "5.4rem",
			isNumber: true,
			isOptional: true,
			cell: (row) => <span class="muted">{formatValue(before(row), unit)}</span>,
		},
		{
			key: `change ${key}`,
			title: named("change"),
			width: title ? "7.5rem" : "6.8rem",
			isNumber: true,
			sort,
			cell: (row) => <Change after={after(row)} before={before(row)} unit={unit} />,
		},
	];
}
