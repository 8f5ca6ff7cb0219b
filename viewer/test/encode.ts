/* encode.ts - builds replies as the engine does (doc/reply.md), for tests. */

export type ColumnData = Uint8Array | Uint32Array | Float64Array | string[];

const utf8 = new TextEncoder();

const pad = (bytes: Uint8Array): Uint8Array => {
	const padded = new Uint8Array((bytes.length + 7) & ~7);
	padded.set(bytes);
	return padded;
};

function encodeTexts(texts: string[]): Uint8Array {
	const encoded = texts.map((text) => utf8.encode(text));
	const offsets = new Uint32Array(texts.length + 1);
	encoded.forEach((bytes, i) => {
		offsets[i + 1] = offsets[i]! + bytes.length;
	});
	return concat([new Uint8Array(offsets.buffer), ...encoded]);
}

export function concat(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
	const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
	let at = 0;

	for (const part of parts) {
		all.set(part, at);
		at += part.length;
	}
	return all;
}

const typeOf = (data: ColumnData) =>
	Array.isArray(data)
		? "text"
		: data instanceof Uint8Array
			? "u8"
			: data instanceof Uint32Array
				? "u32"
				: "f64";

const bytesOf = (data: ColumnData) =>
	Array.isArray(data) ? encodeTexts(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

export function encodeReply(
	ask: string,
	members: Record<string, unknown>,
	columns: Record<string, ColumnData> = {},
): Uint8Array<ArrayBuffer> {
	const parts = Object.values(columns).map((data) => pad(bytesOf(data)));
	let at = 0;
	const list = Object.entries(columns).map(([name, data], i) => {
		const column = { name, type: typeOf(data), at, len: data.length };
		at += parts[i]!.length;
		return column;
	});
	const head = utf8.encode(JSON.stringify({ v: 1, ask, ...members, columns: list }));
	const start = new Uint8Array(16);

	start.set(utf8.encode("ALLOrep1"));
	new DataView(start.buffer).setUint32(8, head.length, true);
	/* 16 bytes are a multiple of 8, so that the head alone decides the padding. */
	return concat([start, pad(head), ...parts]);
}
