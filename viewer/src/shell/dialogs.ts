/* dialogs.ts - which dialog is open: the help sheet or the command palette. */
import { signal } from "@preact/signals";

export type DialogName = "help" | "palette";

const open = signal<DialogName | undefined>(undefined);

export const dialog = {
	open,
	toggle(name: DialogName) {
		open.value = open.value === name ? undefined : name;
	},
	close() {
		open.value = undefined;
	},
};
