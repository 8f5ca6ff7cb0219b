/* test_reply.ts - decoding of replies. */
import assert from "node:assert/strict";
import test from "node:test";
import { AskError, Reply } from "../src/reply.ts";
import { encodeReply } from "./encode.ts";

const decode = (bytes: Uint8Array<ArrayBuffer>) => Reply.decode<{ sum: number }>(bytes.buffer);

test("columns have the values that were written, whatever the length of the head", () => {
	for (const padding of ["", "a", "ab", "abcdefgh"]) {
		const reply = decode(
			encodeReply(
				"tree",
				{ sum: 2 ** 52 + 1, padding },
				{
					kind: Uint8Array.of(1, 2, 255),
					call: Uint32Array.of(0, 4294967295),
					total: Float64Array.of(0.5, 9007199254740991),
					name: ["", "operator new", "\u202e</script>", "gr\u00f6\u00dfe \ud83d\ude00"],
				},
			),
		);
		assert.equal(reply.head.sum, 4503599627370497);
		assert.deepEqual([...reply.u8("kind")], [1, 2, 255]);
		assert.deepEqual([...reply.u32("call")], [0, 4294967295]);
		assert.deepEqual([...reply.f64("total")], [0.5, 9007199254740991]);
		const names = reply.texts("name");
		assert.deepEqual(
			Array.from({ length: names.length }, (_, i) => names.at(i)),
			["", "operator new", "\u202e</script>", "gr\u00f6\u00dfe \ud83d\ude00"],
		);
		assert.equal(names.at(4), "");
	}
});

test("a column that is missing or of another type is empty", () => {
	const reply = decode(encodeReply("tree", {}, { total: Float64Array.of(1) }));

	assert.equal(reply.u32("total").length, 0);
	assert.equal(reply.f64("before_total").length, 0);
	assert.equal(reply.texts("name").length, 0);
	assert.equal(reply.has("total"), true);
	assert.equal(reply.has("before_total"), false);
});

test("an error reply is thrown with code, message and hint", () => {
	const bytes = encodeReply("tree", {
		error: { code: "usage", message: "no such metric", hint: "use peak_bytes" },
	});

	assert.throws(
		() => decode(bytes),
		(error: AskError) =>
			error.code === "usage" && error.message === "no such metric" && error.hint === "use peak_bytes",
	);
});

test("damaged replies are errors, not wrong numbers", () => {
	const whole = encodeReply("tree", { sum: 1 }, { total: Float64Array.of(1, 2, 3), name: ["abc"] });

	assert.throws(() => decode(new Uint8Array(0)), AskError);
	assert.throws(
		() => decode(new TextEncoder().encode("<html>not a reply</html>") as Uint8Array<ArrayBuffer>),
		AskError,
	);
	for (let length = 0; length < whole.length - 8; length++)
		assert.throws(() => decode(whole.slice(0, length)));
});
