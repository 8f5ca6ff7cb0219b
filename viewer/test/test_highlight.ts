/* test_highlight.ts - tokens of source lines. */
import assert from "node:assert/strict";
import test from "node:test";
import { commentStarts, languageOf, tokensOf } from "../src/highlight.ts";

const C = languageOf("a.cpp")!;

const marked = (line: string, language = C, isInside = false) =>
	tokensOf(line, language, isInside)[0]
		.filter(({ kind }) => kind)
		.map(({ kind, text }) => `${kind}:${text}`);

test("keywords, numbers, texts and comments are told apart", () => {
	assert.deepEqual(marked('return x1 + 0x1f; // "no text" 5'), [
		"keyword:return",
		"number:0x1f",
		'comment:// "no text" 5',
	]);
	assert.deepEqual(marked(String.raw`puts("a \" // b"); int returned = 'c';`), [
		String.raw`string:"a \" // b"`,
		"keyword:int",
		"string:'c'",
	]);
	assert.deepEqual(marked("x = 5  # why", languageOf("a.py")!), ["number:5", "comment:# why"]);
});

test("a lifetime is no text", () => {
	assert.deepEqual(marked("fn f<'a>(x: &'a str) {", languageOf("a.rs")!), ["keyword:fn"]);
});

test("a comment may go on in the next lines", () => {
	const lines = ["int a; /* one", "two", "three */ int b;", "int c;"];

	assert.deepEqual([...commentStarts(lines.length, (row) => lines[row]!, C)], [0, 1, 1, 0]);
	assert.deepEqual(marked(lines[2]!, C, true), ["comment:three */", "keyword:int"]);
});

test("nothing of a line is lost", () => {
	for (const line of ["", "'", '"open', "/*/ */ x", "\u202e\u0001<script>", "a'b'c \"d\" /* e */ // f"])
		assert.equal(
			tokensOf(line, C, false)[0]
				.map(({ text }) => text)
				.join(""),
			line,
		);
});

test("other files are plain", () => {
	assert.equal(languageOf("notes.txt"), undefined);
});
