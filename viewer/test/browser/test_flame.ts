/* test_flame.ts - the flame graph and the timeline, by mouse and keyboard. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import type { Page } from "playwright-core";
import { DURATION } from "../fake_data.ts";
import { closeBrowser, open, settle } from "./browser.ts";

after(closeBrowser);

const ROW = 20;

/* A point of the flame graph: share of the width, and row. */
async function point(page: Page, share: number, row: number): Promise<{ x: number; y: number }> {
	const box = (await page.getByTestId("flame").boundingBox())!;

	return { x: box.x + share * box.width, y: box.y + (row + 0.5) * ROW };
}

const details = (page: Page) => page.getByTestId("details").innerText();

test("hovering shows name and numbers in the details bar", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	const { x, y } = await point(page, 0.2, 2);
	await page.mouse.move(x, y);
	assert.match(await details(page), /Image::decode\s+image\.cpp:75[\s\S]*14\.2 MiB, 42\.9% of all/);
	await page.mouse.move(x, y + 20 * ROW);
	assert.doesNotMatch(await details(page), /Image::decode/);
});

test("a double click zooms, a click above zooms out, and both are in the history", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	const main = await point(page, 0.8, 1);
	await page.mouse.dblclick(main.x, main.y);
	await page.waitForURL(/z=1/);
	await settle(page);
	const left = await point(page, 0.01, 2);
	await page.mouse.move(left.x, left.y);
	assert.match(await details(page), /Server::run/);
	const top = await point(page, 0.5, 0);
	await page.mouse.click(top.x, top.y);
	await page.waitForURL((url) => !/z=/.test(url.hash));
	await page.goBack();
	await page.waitForURL(/z=1/);
});

test("keys zoom, filter, invert and flip", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	await page.getByTestId("flame").focus();
	for (const key of ["ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
	await page.waitForURL(/z=1(&|$)/);
	await page.keyboard.press("Backspace");
	await page.waitForURL((url) => !/z=/.test(url.hash));
	await page.keyboard.press("i");
	await settle(page);
	assert.match(await page.getByTestId("chip").innerText(), /ignore\s+fn:=main/);
	assert.match(await page.getByTestId("sum").innerText(), /24\.9 MiB[\s\S]*24\.4% hidden by filters/);
	await page.keyboard.press("v");
	await page.waitForURL(/inv=1/);
	await page.keyboard.press("x");
	await page.waitForURL(/up=1/);
});

test("the context menu focuses on a function", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	const { x, y } = await point(page, 0.2, 2);
	await page.mouse.click(x, y, { button: "right" });
	await page.getByRole("menuitem", { name: /Focus/ }).click();
	await settle(page);
	assert.match(await page.getByTestId("chip").innerText(), /focus\s+fn:=Image::decode/);
	assert.match(await page.getByTestId("sum").innerText(), /14\.2 MiB/);
});

test("search counts each stack once", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	await page.keyboard.press("/");
	await page.keyboard.type("cache");
	await page.getByTestId("search-result").getByText("2 functions, 5.74 MiB, 17.4%").waitFor();
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await page.waitForURL((url) => !/q=/.test(url.hash));
});

test("dragging on the timeline selects, and every view follows", async (t) => {
	const { page, engine } = await open(t, "view=table");

	await settle(page);
	const box = (await page.getByTestId("strip").boundingBox())!;
	await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.4, box.y + 50, { steps: 3 });
	await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
	await page.mouse.up();
	await settle(page);
	const [from, to] = /t=([\d.]+)s\.\.([\d.]+)s/
		.exec(page.url())!
		.slice(1)
		.map((text) => Math.round(Number(text) * 1e9));
	assert.equal(from, DURATION / 4);
	assert.equal(to, DURATION / 2 + 1);
	const asked = engine.asked.findLast(({ ask }) => ask === "table");
	assert.deepEqual([asked?.from, asked?.to], [from, to]);
	assert.match(await page.getByTestId("selection").innerText(), /2\.00? s to 4\.00? s \(2\.00 s\), peak/);
	await page.goBack();
	await page.waitForURL((url) => !/[&#]t=/.test(url.hash));
});

test("pointing at the timeline shows the numbers of the moment", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	const box = (await page.getByTestId("strip").boundingBox())!;
	await page.mouse.move(box.x + box.width / 2, box.y + 40);
	assert.match(
		await details(page),
		/^at 4(\.0+)? s[\s\S]*MiB live[\s\S]*\d blocks[\s\S]*MiB resident[\s\S]*allocations? and [\d,]+ frees? in 20\.0 ms/,
	);
	await page.mouse.move(box.x + box.width / 2, box.y + box.height + 200);
	assert.doesNotMatch(await details(page), /resident/);
});

test("p selects the highest moment to the nanosecond, and R everything", async (t) => {
	const { page, engine } = await open(t, "view=table");
	const { ns } = engine.peakIn({ from: 0, to: DURATION });

	await settle(page);
	await page.keyboard.press("p");
	await page.waitForURL(/[&#]t=/);
	await settle(page);
	const asked = engine.asked.findLast(({ ask }) => ask === "table");
	assert.deepEqual([asked?.from, asked?.to], [ns, ns + 1]);
	assert.match(await page.getByTestId("selection").innerText(), /at 5\.0\d+ s, 33\.0 MiB live/);
	await page.keyboard.press("R");
	await page.waitForURL((url) => !/[&#]t=/.test(url.hash));
});

test("a comparison shows signs, and ends by its chip", async (t) => {
	const { page } = await open(t, "view=table");

	await settle(page);
	await page.getByTestId("compare").click();
	await page.getByRole("menuitem", { name: "Second half with the first half" }).click();
	await settle(page);
	assert.match(await page.getByTestId("table").innerText(), /Image::decode[\s\S]*\u25b2 \+14\.2 MiB\s+new/);
	await page.getByTestId("view-flame").click();
	await settle(page);
	await page.mouse.move(...(Object.values(await point(page, 0.1, 1)) as [number, number]));
	assert.match(await details(page), /against the base/);
	await page.getByTestId("base").getByRole("button").click();
	await page.waitForURL((url) => !/[&#]b=/.test(url.hash));
});

test("the sum beside a tree needs no request, and the other figures ask after it", async (t) => {
	const { page, engine } = await open(t, "view=flame");
	const since = (before: number) =>
		engine.asked
			.slice(before)
			.filter(({ ask }) => ask === "tree" || ask === "timeline")
			.map(({ ask, steps }) => (steps === undefined ? ask : `${ask} ${steps}`));

	await settle(page);
	const first = engine.asked.length;
	const sum = await page.getByTestId("sum").innerText();
	await page.evaluate((to) => {
		location.hash = `#v=1&view=flame&t=0.1s..${to / 2e9}s`;
	}, DURATION);
	await page.waitForFunction(
		(old) => document.querySelector('[data-testid="sum"]')?.textContent !== old,
		sum,
	);
	await settle(page);
	assert.deepEqual(since(first), ["tree", "timeline 1"]);

	/* A zoomed tree has the sums of its branch. */
	const second = engine.asked.length;
	const main = await point(page, 0.8, 1);
	await page.mouse.dblclick(main.x, main.y);
	await page.waitForURL((url) => /[&#]z=/.test(url.hash));
	await page.evaluate(() => {
		location.hash = location.hash.replace(/t=[^&]*/, "t=0.2s..0.4s");
	});
	await settle(page);
	assert.deepEqual(since(second).filter((ask) => ask === "tree").length, 3);
});
