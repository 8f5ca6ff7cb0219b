/* drop.ts - files dropped onto the page. */
import { effect, signal } from "@preact/signals";
import type { Engine } from "./engine.ts";
import { AskError } from "./reply.ts";
import { forgetReport } from "./report.ts";
import { asError, failure, files, openedEngine, openFile, progress, session } from "./session.ts";
import { go } from "./state.ts";
import { DEFAULTS } from "./url.ts";

export const isDropping = signal(false);

export async function openDropped(engine: Engine, file: File): Promise<void> {
	if (!engine.openFile) {
		failure.value = new AskError(
			"usage",
			"This page cannot open other files.",
			`Run: allo view ${file.name}`,
		);
		return;
	}
	const before = session.peek();
	session.value = undefined;
	failure.value = undefined;
	progress.value = `Opening ${file.name}`;
	try {
		const next = await engine.openFile(file.name, await file.arrayBuffer());
		forgetReport();
		openedEngine.value = next;
		files.value = [];
		go({ ...DEFAULTS });
		await openFile(next, 0);
	} catch (error) {
		const { code, message, hint } = asError(error);
		failure.value = new AskError(code, `${file.name}: ${message}`, hint);
		if (engine.isServer) session.value = before; /* its files are still there */
	}
}

/* Chosen in a dialog, which works by key and on small screens. */
export const chosenFile = signal<File | undefined>(undefined);

export function acceptDrops(engine: Engine): void {
	effect(() => {
		const file = chosenFile.value;
		if (file) void openDropped(engine, file);
	});
	addEventListener("dragover", (event) => {
		event.preventDefault();
		isDropping.value = true;
	});
	addEventListener("dragleave", (event) => {
		if (!event.relatedTarget) isDropping.value = false;
	});
	addEventListener("drop", (event) => {
		const file = event.dataTransfer?.files[0];
		event.preventDefault();
		isDropping.value = false;
		if (file) void openDropped(engine, file);
	});
}
