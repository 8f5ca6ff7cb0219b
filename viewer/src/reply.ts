/* reply.ts - decodes a reply of the engine (doc/reply.md) into typed arrays that share its buffer. */

export interface EngineError {
	code: string;
	message: string;
	hint?: string;
}

/* A failure that the engine or its carrier reports; the page shows message and hint. */
export class AskError extends Error {
	constructor(
		readonly code: string,
		message: string,
		readonly hint = "",
	) {
		super(message);
	}
}

/* A column of texts, decoded one by one when they are shown. */
export class Texts {
	constructor(
		private readonly offsets: Uint32Array,
		private readonly bytes: Uint8Array,
	) {}

	get length(): number {
		return this.offsets.length - 1;
	}

	at(index: number): string {
		const begin = this.offsets[index];
		const end = this.offsets[index + 1];
		return begin === undefined || end === undefined ? "" : utf8.decode(this.bytes.subarray(begin, end));
	}
}

const utf8 = new TextDecoder();

interface ColumnHead {
	name: string;
	type: string;
	at: number;
	len: number;
}

const MAGIC = "ALLOrep1";
const HEAD_AT = 16;

const padded = (size: number) => (size + 7) & ~7;

/* A reply: `head` is its JSON, the columns are found by name.  A column that the reply lacks is empty. */
export class Reply<Head = unknown> {
	private constructor(
		readonly head: Head,
		readonly size: number,
		private readonly columns: Map<string, Uint8Array | Uint32Array | Float64Array | Texts>,
	) {}

	static decode<Head>(buffer: ArrayBuffer): Reply<Head> {
		const head = decodeHead(buffer);
		const columnsAt = padded(HEAD_AT + new DataView(buffer).getUint32(8, true));
		const columns = new Map<string, Uint8Array | Uint32Array | Float64Array | Texts>();

		for (const column of head.columns ?? []) {
			const decode = decoders[column.type];
			if (!decode) throw damaged(`column ${column.name} has the unknown type ${column.type}`);
			columns.set(column.name, decode(buffer, columnsAt + column.at, column.len));
		}
		return new Reply(head as Head, buffer.byteLength, columns);
	}

	has(name: string): boolean {
		return this.columns.has(name);
	}

	u8(name: string): Uint8Array {
		const column = this.columns.get(name);
		return column instanceof Uint8Array ? column : new Uint8Array(0);
	}

	u32(name: string): Uint32Array {
		const column = this.columns.get(name);
		return column instanceof Uint32Array ? column : new Uint32Array(0);
	}

	f64(name: string): Float64Array {
		const column = this.columns.get(name);
		return column instanceof Float64Array ? column : new Float64Array(0);
	}

	texts(name: string): Texts {
		const column = this.columns.get(name);
		return column instanceof Texts ? column : new Texts(new Uint32Array(1), new Uint8Array(0));
	}
}

function damaged(detail: string): AskError {
	return new AskError("format", `The engine sent a damaged reply: ${detail}.`, "Reload the page.");
}

function decodeHead(buffer: ArrayBuffer): { columns?: ColumnHead[]; error?: EngineError } {
	if (buffer.byteLength < HEAD_AT || utf8.decode(new Uint8Array(buffer, 0, 8)) !== MAGIC)
		throw damaged("it does not begin with ALLOrep1");
	const length = new DataView(buffer).getUint32(8, true);
	if (HEAD_AT + length > buffer.byteLength) throw damaged("its head is cut off");
	const head = JSON.parse(utf8.decode(new Uint8Array(buffer, HEAD_AT, length)));
	if (head.error) throw new AskError(head.error.code, head.error.message, head.error.hint);
	return head;
}

type Decoder = (
	buffer: ArrayBuffer,
	at: number,
	len: number,
) => Uint8Array | Uint32Array | Float64Array | Texts;

/* The engine, typed arrays and every browser that we support are little-endian. */
const decoders: Record<string, Decoder> = {
	u8: (buffer, at, len) => new Uint8Array(buffer, at, len),
	u32: (buffer, at, len) => new Uint32Array(buffer, at, len),
	f64: (buffer, at, len) => new Float64Array(buffer, at, len),
	text: (buffer, at, len) => {
		const offsets = new Uint32Array(buffer, at, len + 1);
		return new Texts(offsets, new Uint8Array(buffer, at + offsets.byteLength, offsets[len]));
	},
};
