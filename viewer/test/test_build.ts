/* test_build.ts - the committed page is the one that the sources give. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

declare const VIEWER_ROOT: string;

const committed = () => gunzipSync(readFileSync(join(VIEWER_ROOT, "dist/viewer.html.gz"))).toString("utf8");

test("a fresh build equals dist/viewer.html.gz byte for byte", async () => {
	const { buildPage } = await import(pathToFileURL(join(VIEWER_ROOT, "build.mjs")).href);

	assert.ok((await buildPage()) === committed(), "run 'npm run build' and commit dist/viewer.html.gz");
});

test("the page has at most 120 KB", () => {
	assert.ok(readFileSync(join(VIEWER_ROOT, "dist/viewer.html.gz")).length <= 120 * 1024);
});

test("the policy names the hashes of the two scripts and the only style", () => {
	const page = committed();
	const parts = (tag: string) =>
		[...page.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, "gs"))].map((match) => match[1]!);
	const policy = /content="(default-src[^"]*)"/.exec(page)?.[1] ?? "";

	assert.deepEqual([parts("script").length, parts("style").length], [2, 1]);
	for (const text of [...parts("script"), ...parts("style")])
		assert.ok(policy.includes(`'sha256-${createHash("sha256").update(text).digest("base64")}'`));
	assert.ok(policy.startsWith("default-src 'none'; "));
	assert.ok(policy.endsWith("; connect-src 'self'"), "'allo report' removes this end");
	assert.doesNotMatch(policy, /'unsafe-|https?:/);
});

test("the page has the places that reports change once", () => {
	for (const place of ["<!--allo:data-->", "<!--allo:script-->\n<script>"])
		assert.equal(committed().split(place).length, 2);
});

test("nothing is loaded, and no element has a handler", () => {
	const page = committed();

	assert.doesNotMatch(page, /\ssrc=|<link[^>]*href="(?!data:)/);
	assert.doesNotMatch(page.slice(0, page.indexOf("<script>")), /\son\w+=/);
});
