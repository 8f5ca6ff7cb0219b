/* drop.ts - files dropped onto the page. */
import { signal } from "@preact/signals";
import type { Engine } from "./engine.ts";
import { AskError } from "./reply.ts";
import { asError, failure, openFile, progress, session } from "./session.ts";
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
	session.value = undefined;
	failure.value = undefined;
	progress.value = `Opening ${file.name}`;
	try {
		await engine.openFile(file.name, await file.arrayBuffer());
		go({ ...DEFAULTS });
		await openFile(engine, 0);
	} catch (error) {
		failure.value = asError(error);
	}
}

export function acceptDrops(engine: Engine): void {
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
