/*
 * test_real_diff.ts - comparisons on the server of `allo view`: their numbers are those of `allo diff`.
 */
import assert from "node:assert/strict";
import test, { after, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { formatBytes } from "../../src/format.ts";
import { closeBrowser, newPage, settle } from "../browser/browser.ts";
import { allo, golden, startView } from "./allo.ts";

after(closeBrowser);

const [NEW, OLD] = [golden("allo/notes.allo"), golden("allo/server.allo")];
const VIEWS = [
	"flame",
	"table",
	"tree",
	"sandwich",
	"leaks",
	"sizes",
	"lifetimes",
	"threads",
	"blocks",
	"source",
];

async function compare(t: TestContext, files: string[], state = ""): Promise<Page> {
	const url = await startView(t, ...files);
	const { page } = await newPage(t);

	await page.goto(`${url}&${state}`);
	await page.getByTestId("details").waitFor();
	await settle(page);
	return page;
}

test("the sums are those of allo diff", async (t) => {
	const { base, new: now } = JSON.parse(
		allo("diff", "--json", "-M", "peak_bytes", "--trim-allocator", "--trim-startup", OLD, NEW),
	);
	const page = await compare(t, [NEW, OLD], "view=table&m=peak_bytes");
	const sum = await page.getByTestId("sum").innerText();

	assert.ok(sum.includes(formatBytes(now)), `${sum} has ${now}`);
	assert.ok(sum.includes(`was ${formatBytes(base)}`), `${sum} has ${base}`);
	await page.getByTestId("strip").waitFor();
});

for (const [name, old] of [
	["a recording", OLD],
	["a profile", golden("dhat/valgrind-heap.json")],
] as const)
	test(`no view fails against ${name}`, async (t) => {
		const page = await compare(t, [NEW, old]);

		for (const view of VIEWS) {
			await page.getByTestId(`view-${view}`).click();
			await settle(page);
			assert.equal(await page.getByRole("alert").count(), 0, view);
			assert.doesNotMatch(await page.locator("main").innerText(), /-1 ns/, view);
		}
	});

test("DHAT's presets show the new file, and say so", async (t) => {
	const page = await compare(t, [NEW, OLD], "view=tree&file=2&dhat=total-blocks");

	assert.match(
		await page.getByTestId("not-compared").innerText(),
		/Presets are not compared: these are the program points of notes\.allo/,
	);
	assert.ok((await page.getByTestId("dhat").locator("[aria-level]").count()) > 0);
});

test("a range is of both recordings", async (t) => {
	const page = await compare(t, [NEW, OLD], "view=leaks&file=2&t=0s..0.001s");

	assert.match(await page.getByTestId("leaks-sum").innerText(), / live at the end of the selection, was /);
	assert.match(await page.getByTestId("selection").innerText(), /, was /);
});
