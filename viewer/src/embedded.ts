/*
 * embedded.ts - the parts of a report: engine and files, as base64 of gzip in script elements that never run.
 *
 * `allo report` inserts them in place of the comment "allo:data" of the page.
 */
const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> => {
	const fromBase64 = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> })
		.fromBase64;
	if (fromBase64) return fromBase64(text);
	return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
};

/* Unpacked in the worker, so that the page stays responsive. */
function take(id: string): Uint8Array<ArrayBuffer> | undefined {
	const element = document.getElementById(id);
	if (!element) return undefined;
	const bytes = decodeBase64(element.textContent?.trim() ?? "");
	element.remove(); /* the text is not needed twice */
	return bytes;
}

export interface EmbeddedFile {
	name: string;
	packed: Uint8Array<ArrayBuffer>;
}

export function takeEngine(): Uint8Array<ArrayBuffer> | undefined {
	return take("allo-engine");
}

export function takeFiles(): EmbeddedFile[] {
	const files: EmbeddedFile[] = [];

	for (let i = 0; ; i++) {
		const id = `allo-file-${i}`;
		const name = document.getElementById(id)?.dataset.name ?? `file ${i + 1}`;
		const packed = take(id);
		if (!packed) return files;
		files.push({ name, packed });
	}
}
