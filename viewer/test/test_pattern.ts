/* test_pattern.ts - search patterns, as src/analysis/filters/pattern.h describes them. */
import assert from "node:assert/strict";
import test from "node:test";
import { matcherOf } from "../src/pattern.ts";

const CALL = {
	name: "Parser::read",
	full: "Parser::read(int)",
	file: "/src/parse.c",
	line: 1,
	module: 1,
	kind: 0,
};
const matches = (pattern: string) => matcherOf(pattern)?.(CALL, "libfoo.so");

test("text matches anywhere, with smart case", () => {
	assert.equal(matches("parser"), true);
	assert.equal(matches("Parser"), true);
	assert.equal(matches("pArser"), false);
	assert.equal(matches("read(int"), true);
	assert.equal(matches("libfoo"), true);
});

test("= asks for the whole name, slashes for an expression", () => {
	assert.equal(matches("=Parser::read"), true);
	assert.equal(matches("=Parser"), false);
	assert.equal(matches("/^Parser.*d$/"), true);
	assert.equal(matches("/^parser/"), false);
	assert.equal(matches("/^parser/i"), true);
});

test("prefixes restrict the field", () => {
	assert.equal(matches("fn:parse.c"), false);
	assert.equal(matches("file:parse.c"), true);
	assert.equal(matches("mod:foo"), true);
	assert.equal(matches("mod:parse"), false);
});

test("unfinished patterns match nothing", () => {
	for (const pattern of ["", "fn:", "/(/", "/[/i"]) assert.equal(matcherOf(pattern), undefined, pattern);
});
