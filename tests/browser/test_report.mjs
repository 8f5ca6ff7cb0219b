/* test_report.mjs - reports of real recordings and profiles, opened from the disk. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { allo, alloJson, closeBrowser, file, folder, golden, open } from "./browser.mjs";

after(closeBrowser);

/* The source file of dhat/valgrind-heap.json. */
const SOURCE = "demo.c";

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
		await page.waitForSelector('[data-testid="waiting"]', { state: "detached" });
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

	await page.waitForSelector("text=Drop a heap profile here");
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
	assert.match(await page.textContent('[data-testid="gaps"]'), /1 file is truncated/);
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
	for (const { name, base, change } of rows) {
		const sign = change > 0 ? "\u25b2 +" : "\u25bc \u2212";
		const numbers = base.toLocaleString("en") + sign + Math.abs(change).toLocaleString("en");
		assert.ok(text.includes(name + numbers), `${name} in ${text}`);
	}
});

/* A folder with a source file for a profile of Valgrind, each of whose lines says its number. */
function sourceFolder(t, name) {
	const lines = Array.from({ length: 200 }, (_, i) => `text of line ${i + 1};`).join("\n");

	return file(t, name, lines).slice(0, -name.length - 1);
}

function withSource(t, path, name) {
	process.env.ALLO_SOURCE_PATH = sourceFolder(t, name);
	t.after(() => delete process.env.ALLO_SOURCE_PATH);
	return report(t, "--with-source", path);
}

test("a report with source shows the lines of its functions", async (t) => {
	const page = await open(t, withSource(t, golden("dhat/valgrind-heap.json"), SOURCE));

	await shown(page, "overview");
	assert.match(await page.textContent('[data-testid="contents"]'), /source lines of 1 file\./);
	await page.click('[data-testid="view-source"]');
	await shown(page, "files");
	await page.dblclick(`[data-testid="files"] >> text=${SOURCE}`);
	await shown(page, "source");
	/* It opens at the line with the largest cost; the first ones are drawn when they are on screen. */
	await page.focus('[data-testid="source"]');
	await page.keyboard.press("Home");
	await page.waitForSelector('[data-testid="source"] [role="row"] >> text=/line 14;$/');
	const rows = await page.$$eval('[data-testid="source"] [role="row"]', (all) => all.map((row) => row.textContent));
	/* make_node allocates in line 14, and no function has a call in line 30. */
	assert.ok(rows.some((row) => /B.*14text of line 14;$/.test(row)), rows.join("\n"));
	assert.ok(!rows.some((row) => row.endsWith("text of line 30;")), rows.join("\n"));
});

test("a report says what it contains", async (t) => {
	const page = await open(t, report(t, "--redact", "names,host", golden("allo/server.allo")));

	await shown(page, "overview");
	const text = await page.textContent('[data-testid="contents"]');
	assert.match(text, /Contains the engine, the recording with every event, paths and the command line\./);
	assert.match(text, /Does not contain names of functions, .*, the names of host and user and source text\./);
	await page.click('[data-testid="view-source"]');
	await shown(page, "server-only");
});

test("a report without the recording shows the curve and some windows", async (t) => {
	const path = golden("allo/server.allo");
	const [largest] = alloJson("top", "-n", "1", path).rows;
	const page = await open(t, report(t, "--max-size", "350K", path));

	await shown(page, "overview");
	assert.match(await page.textContent('[data-testid="contents"]'), /Contains the exact curve of the heap, a fixed set of windows, .* not contain the recording/);
	assert.ok((await page.textContent('[data-testid="overview"]')).includes(largest.short ?? largest.name));
	for (const view of VIEWS.filter((name) => name !== "blocks")) {
		await page.click(`[data-testid="view-${view}"]`);
		await page.waitForSelector('[role="status"][aria-label="Loading"]', { state: "detached" });
		assert.equal(await page.$('main [role="alert"]'), null, view);
	}
	/* A selection becomes a window that the report has. */
	await page.click('[data-testid="view-flame"]');
	const { width, height } = await (await page.$('[data-testid="strip"]')).boundingBox();
	await page.click('[data-testid="strip"] canvas', { position: { x: width / 3, y: height / 2 } });
	await shown(page, "flame");
	assert.match(page.url(), /t=/);
	assert.equal(await page.$('main [role="alert"]'), null);
	await page.click('[data-testid="view-blocks"]');
	assert.match(await page.textContent('main [role="alert"]'), /written without the recording/);
});

test("a recording without events has a report in both forms", async (t) => {
	const path = join(folder(t), "none.allo");

	allo("run", "-q", "--min-size", "1G", "-o", path, "--", "ls", "/");
	for (const limit of ["0", "350K"]) {
		const page = await open(t, report(t, "--max-size", limit, path));

		await shown(page, "overview");
		await page.click('[data-testid="view-flame"]');
		assert.match(await page.textContent('[data-testid="nothing"]'), /No stacks to show/);
	}
});
