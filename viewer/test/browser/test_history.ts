/* test_history.ts - choices in a view are in the URL: a link keeps them, and Back is undo. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import type { Page } from "playwright-core";
import { closeBrowser, open, settle } from "./browser.ts";

after(closeBrowser);

const pressed = async (page: Page, name: string): Promise<boolean> =>
	(await page.locator("main").getByRole("button", { name, exact: true }).getAttribute("aria-pressed")) ===
	"true";

const CHOICES = [
	{ view: "leaks", choose: "Growing", before: "All", field: /kind=growing/ },
	{ view: "leaks", choose: "Repeats in every generation", before: undefined, field: /rep=1/ },
	{ view: "sizes", choose: "Bytes", before: "Blocks", field: /bytes=1/ },
	{ view: "lifetimes", choose: "Bytes", before: "Blocks", field: /bytes=1/ },
];

for (const { view, choose, before, field } of CHOICES)
	test(`${view}: "${choose}" is in the link, and Back undoes it`, async (t) => {
		const { page } = await open(t, `view=${view}`);

		await settle(page);
		await page.getByRole("button", { name: choose, exact: true }).click();
		await page.waitForURL(field);
		assert.ok(await pressed(page, choose));
		await page.reload();
		await settle(page);
		assert.ok(await pressed(page, choose));
		await page.goBack();
		await settle(page);
		assert.ok(!(await pressed(page, choose)));
		if (before) assert.ok(await pressed(page, before));
	});

for (const view of ["leaks", "blocks"])
	test(`${view}: the row is in the link, and another list begins at its first row`, async (t) => {
		const { page } = await open(t, `view=${view}`);
		const grid = page.getByTestId(view);
		const current = () => grid.getAttribute("aria-activedescendant");

		await settle(page);
		await grid.focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await page.waitForURL(/row=2/);
		await settle(page);
		const stack = await page.getByTestId("stack").innerText();
		await page.reload();
		await settle(page);
		assert.equal(await current(), `${view}-row-2`);
		assert.equal(await page.getByTestId("stack").innerText(), stack);
		await page.getByTestId("stack").getByRole("button").first().click();
		await page.waitForURL(/view=sandwich/);
		assert.doesNotMatch(page.url(), /row=/);
		await page.goBack();
		await settle(page);
		assert.equal(await current(), `${view}-row-2`);
		await page.keyboard.press("m");
		await page.waitForURL(/f=mine/);
		await settle(page);
		assert.equal(await current(), `${view}-row-0`);
	});

test("an unknown kind of leak is all of them", async (t) => {
	const { page } = await open(t, "view=leaks&kind=odd&row=123456");

	await settle(page);
	assert.ok(await pressed(page, "All"));
	assert.ok((await page.getByTestId("stack").getByRole("button").count()) > 0);
});
