/*
 * embedded.ts - the parts of a report: engine, script and files, packed, as text in script elements that never run
 * (put_base128() in report_page.c).  The engine is packed by zstd, all others by gzip.
 *
 * `allo report` inserts them in place of the comment "allo:data" of the page.
 */
import { gunzip } from "./gunzip.ts";

const NOT_KEPT = [
	0, 13, 60,
]; /* by HTML: such a character and the next 7 bits are one character from U+0080 on */

/* Seven bits a character. */
export function decodeBase128(text: string): Uint8Array<ArrayBuffer> {
	const bytes = new Uint8Array(Math.floor((text.length * 7) / 4)); /* at most 14 bits a character */
	let at = 0;
	let bits = 0;
	let count = 0;
	const take = (seven: number) => {
		bits = ((bits & 0xff) << 7) | seven;
		count += 7;
		if (count < 8) return;
		count -= 8;
		bytes[at++] = bits >> count;
	};

	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		if (code >= 0x80 && code < 0x200) take(NOT_KEPT[(code >> 7) - 1]!);
		take(code & 0x7f);
	}
	return bytes.slice(0, at);
}

/* Unpacked in the worker, so that the page stays responsive. */
function take(id: string): Uint8Array<ArrayBuffer> | undefined {
	const element = document.getElementById(id);
	if (!element) return undefined;
	const bytes = decodeBase128(element.textContent ?? "");
	element.remove(); /* the text is not needed twice */
	return bytes;
}

async function takePart(id: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
	const packed = take(id);
	return packed && (await gunzip(packed));
}

export async function takeText(id: string): Promise<string | undefined> {
	const part = await takePart(id);
	return part && new TextDecoder().decode(part);
}

/* A small part that the page itself reads. */
export async function takeJson<T>(id: string): Promise<T | undefined> {
	const text = await takeText(id);
	return text === undefined ? undefined : JSON.parse(text);
}

/* Replies of a report without recording. */
export const takeReplies = (): Promise<Uint8Array<ArrayBuffer> | undefined> => takePart("allo-replies");

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
