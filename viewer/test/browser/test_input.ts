/* test_input.ts - wheel, keys and menus; large screens; print. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import type { Page } from "playwright-core";
import { DURATION } from "../fake_data.ts";
import { closeBrowser, open, settle } from "./browser.ts";
import { VIEWS } from "./views.ts";

after(closeBrowser);

/* A range of the URL in seconds, such as that of "w=1s..2.5s". */
function range(page: Page, field: string): [number, number] | undefined {
	const found = new RegExp(`[#&]${field}=([\\d.]+)(ns|us|ms|s)\\.\\.([\\d.]+)(ns|us|ms|s)`).exec(page.url());
	const unit: Record<string, number> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };

	return found ? [Number(found[1]) * unit[found[2]!]!, Number(found[3]) * unit[found[4]!]!] : undefined;
}

const SECONDS = DURATION / 1e9;
const near = (a: number, b: number, least = 0.01) => Math.abs(a - b) <= least;

test("the wheel zooms the timeline around the pointer", async (t) => {
	const { page } = await open(t, "view=table");

	await settle(page);
	const box = (await page.getByTestId("strip").boundingBox())!;
	await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
	await page.mouse.wheel(0, -200);
	await page.waitForURL(/[#&]w=/);
	const [from, to] = range(page, "w")!;
	assert.ok(near(to - from, 0.8 * SECONDS), page.url());
	assert.ok(near(from + (to - from) / 4, SECONDS / 4), page.url());
	await page.mouse.wheel(0, 200);
	await page.waitForURL((url) => !/[#&]w=/.test(url.hash));
});

test("keys zoom and move the timeline, and select the peak and the end", async (t) => {
	const { page, engine } = await open(t, "view=table");

	await settle(page);
	await page.keyboard.press("w");
	await page.waitForURL(/[#&]w=/);
	const [from, to] = range(page, "w")!;
	assert.ok(near(to - from, 0.6 * SECONDS));
	await page.keyboard.press("a");
	await page.waitForURL((url) => !url.hash.includes(`&w=${from}`));
	const left = range(page, "w")!;
	assert.ok(near(left[1] - left[0], to - from) && left[0] < from, page.url());
	await page.keyboard.press("d");
	await page.keyboard.press("d");
	assert.ok(range(page, "w")![0] > left[0]);
	await page.keyboard.press("-");
	await page.keyboard.press("s");
	await page.waitForURL((url) => !/[#&]w=/.test(url.hash));
	await page.keyboard.press("P");
	await page.waitForURL(/[#&]t=/);
	const { ns } = engine.peakIn({ from: 0, to: DURATION });
	assert.ok(near(range(page, "t")![0], ns / 1e9, 1e-6), page.url());
	await page.keyboard.press("e");
	await page.waitForURL((url) => /[#&]t=/.test(url.hash) && near(range(page, "t")![0], SECONDS, 1e-6));
	await page.keyboard.press("R");
	await page.waitForURL((url) => !/[#&]t=/.test(url.hash));
});

test("the ends of the selection move by keys", async (t) => {
	const { page } = await open(t, "view=table&t=1s..2s");

	await settle(page);
	const start = page.getByTestId("handle-from");
	await start.focus();
	await page.keyboard.press("ArrowRight");
	await page.waitForURL((url) => !url.hash.includes("&t=1s"));
	const [one] = range(page, "t")!;
	await page.keyboard.press("Shift+ArrowRight");
	await page.waitForURL((url) => url.hash !== undefined && range(page, "t")![0] > one);
	assert.ok(near(range(page, "t")![0] - 1, 11 * (one - 1), 1e-6), page.url());
	await page.keyboard.press("Home");
	await page.waitForURL((url) => /&t=0/.test(url.hash));
	assert.equal(await start.getAttribute("aria-valuenow"), "0");
	await page.getByTestId("handle-to").focus();
	await page.keyboard.press("End");
	await page.waitForURL((url) => near(range(page, "t")?.[1] ?? 0, SECONDS, 1e-6) && url.hash !== "");
});

test("G shows the growth since the last mark", async (t) => {
	const { page, engine } = await open(t, "view=flame");

	await settle(page);
	await page.keyboard.press("G");
	await page.getByTestId("table").waitFor();
	await settle(page);
	const { ns } = (engine.openHead().marks as { ns: number }[]).at(-1)!;
	const asked = engine.asked.filter(({ ask }) => ask === "table").at(-1)!;
	assert.deepEqual(
		[asked.base, asked.metric, asked.sort],
		[{ file: 0, from: 0, to: ns }, "end_bytes", "change"],
	);
	await page.goBack();
	await page.getByTestId("flame").waitFor();
	await page.keyboard.press("g");
	await page.waitForURL(/mark=/);
	await page.keyboard.press("G");
	await page.waitForURL(new RegExp(`b=0:0s\\.\\.${SECONDS}s`));
});

for (const view of ["table", "flame", "tree", "leaks"])
	test(`Shift+F10 opens the menu of the current row or box: ${view}`, async (t) => {
		const { page } = await open(t, `view=${view}`);
		const part = page.getByTestId(view);

		await settle(page);
		await part.focus();
		await page.keyboard.press("ArrowDown");
		for (const key of ["Shift+F10", "ContextMenu"]) {
			await page.keyboard.press(key);
			await page.getByRole("menu").waitFor();
			await page.keyboard.press("Escape");
			await page.getByRole("menu").waitFor({ state: "detached" });
			assert.ok(await part.evaluate((element) => element === document.activeElement), key);
		}
	});

test("the heat map speaks, moves by keys, and is a table as well", async (t) => {
	const { page } = await open(t, "view=lifetimes");
	const details = page.getByTestId("details");

	await settle(page);
	await page.getByTestId("heat").focus();
	const largest = await details.innerText();
	assert.match(largest, /from \S+ \S+, freed after [\s\S]* or more\s+[\d,]+/);
	assert.equal(await page.locator(".heat .is-current").count(), 1);
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("ArrowLeft");
	await page.keyboard.press("ArrowDown");
	const moved = await details.innerText();
	assert.match(moved, /freed after/);
	await page.keyboard.press("Tab");
	assert.doesNotMatch(await details.innerText(), /freed after/);
	const table = page.getByTestId("heat-table");
	await table.locator("summary").click();
	const rows = await table.locator("tbody tr").allInnerTexts();
	assert.equal(rows.length, await page.getByTestId("heat").locator("rect").count());
	const counts = rows.map((row) => Number(row.split("\t").at(-1)!.replaceAll(",", "")));
	assert.deepEqual(
		counts,
		[...counts].sort((a, b) => b - a),
	);
	assert.ok(largest.includes(rows[0]!.split("\t").at(-1)!));
});

test("a result of SQL is a chart of chosen columns, which the link keeps", async (t) => {
	const { page } = await open(t, "view=sql&sql=x");
	const chart = page.getByTestId("sql-chart");

	await settle(page);
	assert.equal(await chart.count(), 0);
	for (const kind of ["Bars", "Line", "Points"]) {
		await page.getByRole("button", { name: kind }).click();
		await chart.locator(`.chart-${kind.toLowerCase()}`).waitFor();
	}
	assert.match((await chart.getAttribute("aria-label")) ?? "", /^bytes by name, 2 rows/);
	await page.reload();
	await chart.locator(".chart-points").waitFor();
	const box = (await chart.boundingBox())!;
	await page.mouse.move(box.x + box.width - 60, box.y + 50);
	assert.match(await page.getByTestId("details").innerText(), /^b\s+bytes 7/);
	await page.getByLabel("Across").selectOption({ label: "bytes" });
	await page.waitForURL(/xy=1\.1/);
	assert.match((await chart.getAttribute("aria-label")) ?? "", /^bytes by bytes/);
	await page.getByRole("button", { name: "Table only" }).click();
	await chart.waitFor({ state: "detached" });
});

test("a screen of 3,840 pixels is used", async (t) => {
	const { page } = await open(t, "", { viewport: { width: 3840, height: 2160 } });

	for (const view of VIEWS) {
		await page.evaluate((name) => {
			location.hash = `#v=1&view=${name}`;
		}, view);
		await settle(page);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
		const { width } = (await page.locator("main").boundingBox())!;
		const [part] = await page.locator("main > *").all();
		assert.ok(width > 3600 && (await part!.boundingBox())!.width >= 0.99 * width, view);
	}
});

test("a printed overview has all of it, with the advice of findings, and no controls", async (t) => {
	const { page } = await open(t, "", { viewport: { width: 900, height: 500 } });
	const advice = page.getByText("Free the session when its connection closes.");

	await settle(page);
	assert.ok(!(await advice.isVisible()));
	await page.emulateMedia({ media: "print" });
	for (const part of [".controls", ".views", ".search", "footer.details"])
		assert.ok(!(await page.locator(part).first().isVisible()), part);
	assert.ok(await advice.isVisible());
	const { shown, whole } = await page.evaluate(() => {
		const overview = document.querySelector<HTMLElement>(".overview")!;
		return { shown: document.documentElement.scrollHeight, whole: overview.scrollHeight };
	});
	assert.ok(shown >= whole && whole > 500, `${shown} and ${whole} pixels`);
});
