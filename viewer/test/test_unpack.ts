/* test_unpack.ts - compressed files and frames, as the engine needs them. */
import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { decodeBase128 } from "../src/embedded.ts";
import { statedSize, unpackFile, unpackFrame } from "../src/unpack.ts";

/* A file of 1000 spaces: zstd -19. */
const FRAME = Uint8Array.from(Buffer.from("KLUv/WToAkUAAAggAQDkKyAEspJ9HA==", "base64"));

test("a frame is unpacked only if it has exactly the expected size", () => {
	assert.equal(statedSize(FRAME), 1000);
	assert.deepEqual(unpackFrame(FRAME, 1000), new Uint8Array(1000).fill(32));
	assert.equal(unpackFrame(FRAME, 999), undefined);
	assert.equal(unpackFrame(FRAME, 2 ** 31), undefined);
});

test("damaged frames are refused, at every length", () => {
	for (let length = 0; length < FRAME.length - 4; length++)
		assert.equal(unpackFrame(FRAME.slice(0, length), 1000), undefined);
	assert.equal(unpackFrame(new TextEncoder().encode("not a frame at all"), 18), undefined);
});

/* As put_base128() of report_page.c. */
function encodeBase128(bytes: Uint8Array): string {
	const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
	const sevens = (bits.match(/.{1,7}/g) ?? []).map((group) => Number.parseInt(group.padEnd(7, "0"), 2));
	let text = "";

	while (sevens.length > 0) {
		const seven = sevens.shift()!;
		const index = [0, 13, 60].indexOf(seven);
		if (index < 0) text += String.fromCharCode(seven);
		else if (sevens.length === 0) text += String.fromCharCode(0x200 + seven);
		else text += String.fromCharCode((index + 1) * 0x80 + sevens.shift()!);
	}
	return text;
}

test("parts of a report have seven bits a character", () => {
	const every = Uint8Array.from({ length: 1000 }, (_, i) => (i * 37 + (i >> 8)) & 0xff);

	for (let length = 0; length < every.length; length++)
		assert.deepEqual(decodeBase128(encodeBase128(every.subarray(0, length))), every.slice(0, length));
	assert.equal(encodeBase128(new Uint8Array(7)), "\x80".repeat(4));
	assert.equal(encodeBase128(new Uint8Array(8)), `${"\x80".repeat(4)}\x80`);
});

test("files may be plain, gzip or zstd", async () => {
	const text = new TextEncoder().encode("main;parse 12\n") as Uint8Array<ArrayBuffer>;

	assert.deepEqual(await unpackFile(text), text);
	assert.deepEqual(await unpackFile(new Uint8Array(gzipSync(text))), text);
	assert.deepEqual(await unpackFile(FRAME), new Uint8Array(1000).fill(32));
	assert.equal((await unpackFile(new Uint8Array(0))).length, 0);
});
