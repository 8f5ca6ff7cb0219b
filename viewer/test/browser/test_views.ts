/* test_views.ts - every view on the fake engine: it draws, complains about nothing, and shows the engine's numbers. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { formatBytes } from "../../src/format.ts";
import { DURATION } from "../fake_data.ts";
import { closeBrowser, open, settle } from "./browser.ts";

after(closeBrowser);

test("the token leaves the URL, and a reload still works", async (t) => {
	const { page } = await open(t);

	assert.doesNotMatch(page.url(), /k=/);
	await page.reload();
	await page.getByTestId("overview").waitFor();
});

test("without a token, the page says how to get one", async (t) => {
	const { page, complaints } = await open(t);

	await page.evaluate(() => sessionStorage.clear());
	await page.reload();
	await page.getByText("The server refuses this page.").waitFor();
	complaints.length = 0; /* Chromium reports the status 401 */
});

test("the overview names the peak and who holds it", async (t) => {
	const { page, engine } = await open(t);
	const peak = engine.peakIn({ from: 0, to: DURATION });

	await settle(page);
	const text = await page.getByTestId("overview").innerText();
	assert.ok(text.includes(formatBytes(peak.bytes)));
	assert.match(
		await page.getByTestId("holders-peak_bytes").innerText(),
		/Image::decode accounts for 42\.9% of 33\.0 MiB/,
	);
});

test("the overview shows who holds memory over time, and follows filters", async (t) => {
	const { page, engine } = await open(t);
	const chart = page.getByTestId("history");
	const names = page.getByRole("list", { name: "Functions" });

	await settle(page);
	assert.equal(await chart.locator("path").count(), 8);
	assert.match(await names.innerText(), /^other functions[\s\S]*Image::decode$/);
	const box = (await chart.boundingBox())!;
	await page.mouse.move(box.x + box.width - 1, box.y + 60);
	const left = engine.blocks.filter(({ free }) => free < 0).reduce((bytes, { size }) => bytes + size, 0);
	assert.match(await page.getByTestId("details").innerText(), new RegExp(`${formatBytes(left)} live`));
	await names.getByText("Image::decode").click();
	await page.waitForURL(/view=sandwich.*m=end_bytes/);
	await page.goto(page.url().replace(/#.*/, "#view=overview&f=focus:Image::decode"));
	await settle(page);
	assert.equal(await chart.locator("path").count(), 1);
});

test("a table row opens the function's callers and callees", async (t) => {
	const { page } = await open(t, "view=table");

	await settle(page);
	await page.getByTestId("table").getByText("Cache::grow").dblclick();
	await page.getByTestId("middle").getByText("Cache::grow").waitFor();
	assert.match(page.url(), /view=sandwich/);
	await settle(page);
	assert.match(await page.getByTestId("callers").innerText(), /Cache::insert/);
});

test("Back is undo", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	await page.getByTestId("view-table").click();
	await page.getByTestId("table").waitFor();
	await page.goBack();
	await page.getByTestId("flame").waitFor();
});
