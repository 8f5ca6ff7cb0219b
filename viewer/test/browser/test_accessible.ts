/* test_accessible.ts - axe-core finds nothing serious in any view, in any theme. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { axeProblems, closeBrowser, open, settle } from "./browser.ts";

after(closeBrowser);

const VIEWS = [
	"overview",
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
	"sql&sql=x",
];

for (const theme of ["light", "dark", "contrast"])
	test(`no serious problems in any view: ${theme}`, async (t) => {
		const { page } = await open(t, "view=overview", { bypassCSP: true });

		await page.evaluate((name) => localStorage.setItem("allo-theme", name), theme);
		await page.reload();
		await page.getByTestId("overview").waitFor();
		for (const view of VIEWS) {
			await page.evaluate((name) => {
				location.hash = `#v=1&view=${name}`;
			}, view);
			await settle(page);
			assert.equal(await axeProblems(page), "", `${view}, ${theme}`);
		}
		await page.keyboard.press("?");
		assert.equal(await axeProblems(page), "", `keys, ${theme}`);
	});

test("the flame graph speaks: name, value, share and children of the focused box", async (t) => {
	const { page } = await open(t, "view=flame");
	const item = page.getByRole("treeitem");

	await settle(page);
	await page.getByTestId("flame").focus();
	assert.match((await item.getAttribute("aria-label")) ?? "", /^all, 33\.0 MiB, 100\.0% of all, 2 children$/);
	await page.keyboard.press("ArrowDown");
	assert.match(
		(await item.getAttribute("aria-label")) ?? "",
		/^worker_loop, 24\.9 MiB, 75\.6% of all, \d children$/,
	);
	assert.equal(await item.getAttribute("aria-level"), "2");
	await page.keyboard.press("ArrowRight");
	assert.match((await item.getAttribute("aria-label")) ?? "", /^main, 8\.05 MiB/);
	await page.keyboard.press("ArrowUp");
	assert.match((await item.getAttribute("aria-label")) ?? "", /^all,/);
});
