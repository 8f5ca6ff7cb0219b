/* test_accessible.ts - axe-core finds nothing serious in any view, in any theme. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import test, { after } from "node:test";
import type { Page } from "playwright-core";
import { closeBrowser, open, settle } from "./browser.ts";

declare const VIEWER_ROOT: string;

after(closeBrowser);

const AXE = readFileSync(
	createRequire(join(VIEWER_ROOT, "package.json")).resolve("axe-core/axe.min.js"),
	"utf8",
);

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

interface Violation {
	id: string;
	impact: string;
	nodes: { html: string; failureSummary: string }[];
}

/* Serious problems as text, or "". */
async function problems(page: Page): Promise<string> {
	const found = await page.evaluate(async () => {
		const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
		return (await axe.run()).violations;
	});

	return (found as Violation[])
		.filter(({ impact }) => impact === "serious" || impact === "critical")
		.flatMap(({ id, nodes }) =>
			nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
		)
		.join("\n");
}

for (const theme of ["light", "dark", "contrast"])
	test(`no serious problems in any view: ${theme}`, async (t) => {
		const { page } = await open(t, "view=overview", { bypassCSP: true });

		await page.evaluate((name) => localStorage.setItem("allo-theme", name), theme);
		await page.reload();
		await page.getByTestId("overview").waitFor();
		await page.addScriptTag({ content: AXE });
		for (const view of VIEWS) {
			await page.evaluate((name) => {
				location.hash = `#v=1&view=${name}`;
			}, view);
			await settle(page);
			assert.equal(await problems(page), "", `${view}, ${theme}`);
		}
		await page.keyboard.press("?");
		assert.equal(await problems(page), "", `keys, ${theme}`);
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
