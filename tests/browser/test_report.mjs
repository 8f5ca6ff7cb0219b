/* test_report.mjs - reports of real recordings and profiles, opened from the disk. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { allo, alloJson, closeBrowser, file, folder, golden, open } from "./browser.mjs";

after(closeBrowser);

const VIEWS = ["overview", "flame", "table", "tree", "sandwich", "leaks", "sizes", "lifetimes", "threads", "blocks"];

function report(t, ...words) {
	const path = join(folder(t), "report.html");

	allo("report", ...words, "-o", path);
	return path;
}

const shown = (page, name) => page.waitForSelector(`[data-testid="${name}"]`);

test("a recording is shown with the numbers of allo top", async (t) => {
	const path = golden("allo/server.allo");
	const [largest] = alloJson("top", "-n", "1", path).rows;
	const page = await open(t, report(t, path));

	await shown(page, "overview");
	assert.match(await page.textContent('[data-testid="overview"]'), new RegExp(largest.short ?? largest.name));
	await page.click('[data-testid="view-table"]');
	await shown(page, "table");
	assert.match(await page.textContent('[data-testid="table"]'), new RegExp(largest.short ?? largest.name));
});

test("all views open without a request or an error", async (t) => {
	const page = await open(t, report(t, golden("allo/server.allo")));

	await shown(page, "overview");
	for (const view of VIEWS) {
		await page.click(`[data-testid="view-${view}"]`);
		await page.waitForFunction(() => !document.querySelector('[data-testid="waiting"]'));
	}
});

test("profiles of other tools open as well", async (t) => {
	for (const path of ["dhat/valgrind-heap.json", "pprof/go-heap.pb.gz", "folded/dhat-total-bytes.folded"]) {
		const page = await open(t, report(t, golden(path)));

		await shown(page, "overview");
		await page.click('[data-testid="view-flame"]');
		await shown(page, "flame");
	}
});

test("the policy of a report allows no connection", async (t) => {
	const text = readFileSync(report(t, golden("allo/server.allo")), "utf8");

	assert.match(text, /Content-Security-Policy" content="default-src 'none'/);
	assert.doesNotMatch(text, /connect-src/);
});

test("a file that is dropped onto an empty report is shown", async (t) => {
	const page = await open(t, report(t, "--empty"));
	const bytes = readFileSync(golden("dhat/valgrind-heap.json")).toString("base64");

	await page.waitForSelector("body");
	await page.evaluate((base64) => {
		const data = new DataTransfer();
		const content = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

		data.items.add(new File([content], "dropped.json"));
		for (const type of ["dragenter", "dragover", "drop"])
			document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
	}, bytes);
	await shown(page, "overview");
	assert.match(await page.title(), /dropped\.json/);
});

test("a cut recording is shown with its gaps in every view", async (t) => {
	const whole = readFileSync(golden("allo/shuffled.allo"));
	const page = await open(t, report(t, file(t, "cut.allo", whole.subarray(0, -40))));

	await shown(page, "overview");
	assert.match(await page.textContent('[data-testid="gaps"]'), /1 file ends before its recording does/);
	await page.click('[data-testid="view-flame"]');
	await shown(page, "flame");
	assert.equal(await page.isVisible('[data-testid="gaps"]'), true);
});

test("an intact recording has no gaps", async (t) => {
	const page = await open(t, report(t, golden("allo/server.allo")));

	await shown(page, "overview");
	assert.equal(await page.$('[data-testid="gaps"]'), null);
});

test("two files are compared with the numbers of allo diff", async (t) => {
	const before = file(t, "old.folded", "main;parse 1000\nmain;load 300\n");
	const now = file(t, "new.folded", "main;parse 4000\nmain;load 100\n");
	const { rows } = alloJson("diff", before, now);
	const page = await open(t, report(t, now, before));

	await page.waitForSelector('[aria-label="File"]');
	assert.equal(await page.textContent('[aria-label="File"] option:checked'), "new.folded against old.folded");
	await page.click('[data-testid="view-table"]');
	await shown(page, "table");
	const text = await page.textContent('[data-testid="table"]');
	assert.equal(rows.length, 2);
	for (const { name, change } of rows) {
		const sign = change > 0 ? "\u25b2 +" : "\u25bc \u2212";
		assert.ok(text.includes(name + sign + Math.abs(change).toLocaleString("en")), `${name} in ${text}`);
	}
});
