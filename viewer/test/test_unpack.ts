/* test_unpack.ts - compressed files and frames, as the engine needs them. */
import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
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

test("files may be plain, gzip or zstd", async () => {
	const text = new TextEncoder().encode("main;parse 12\n") as Uint8Array<ArrayBuffer>;

	assert.deepEqual(await unpackFile(text), text);
	assert.deepEqual(await unpackFile(new Uint8Array(gzipSync(text))), text);
	assert.deepEqual(await unpackFile(FRAME), new Uint8Array(1000).fill(32));
	assert.equal((await unpackFile(new Uint8Array(0))).length, 0);
});
