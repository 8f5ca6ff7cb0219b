/* unpack.ts - gzip by the browser, zstd by fzstd. */
import { Decompress, decompress } from "fzstd";
import { gunzip } from "./gunzip.ts";

const ZSTD_MAGIC = 0xfd2fb528;

/* The size that the head of a zstd frame states, or -1.  Recordings always state it. */
export function statedSize(frame: Uint8Array): number {
	const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
	if (frame.length < 6 || view.getUint32(0, true) !== ZSTD_MAGIC) return -1;
	const flags = frame[4]!;
	const isSingle = (flags >> 5) & 1;
	const at = 5 + (1 - isSingle) + [0, 1, 2, 4][flags & 3]!;
	const width = flags >> 6 === 0 ? isSingle : 1 << (flags >> 6);

	if (width === 0 || frame.length < at + width) return -1;
	if (width === 1) return frame[at]!;
	if (width === 2) return view.getUint16(at, true) + 256;
	return width === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

/* One frame of exactly `size` bytes, or undefined.  fzstd trusts the stated size: it is checked before memory is taken. */
export function unpackFrame(frame: Uint8Array, size: number): Uint8Array | undefined {
	if (statedSize(frame) !== size) return undefined;
	try {
		const unpacked = decompress(frame);
		return unpacked.length === size ? unpacked : undefined;
	} catch {
		return undefined;
	}
}

async function unzstd(packed: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
	const pieces: Uint8Array<ArrayBuffer>[] = [];

	new Decompress((piece) => pieces.push(piece.slice())).push(packed, true);
	return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/* The contents of a file that may be compressed as a whole. */
export async function unpackFile(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
	if (bytes[0] === 0x1f && bytes[1] === 0x8b) return await gunzip(bytes);
	if (bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd)
		return await unzstd(bytes);
	return bytes;
}
