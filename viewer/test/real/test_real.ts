/*
 * test_real.ts - the page on the server of `allo view`: its numbers are those of the command line.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { formatBytes, formatValue } from "../../src/format.ts";
import { closeBrowser, newPage, settle } from "../browser/browser.ts";
import { allo, golden, startView, top } from "./allo.ts";

after(closeBrowser);

/* Opens a file in `allo view`. */
async function view(t: TestContext, file: string, state = ""): Promise<Page> {
	const url = await startView(t, file);
	const { page } = await newPage(t);

	await page.goto(`${url}&${state}`);
	await page.getByTestId("details").waitFor();
	await settle(page);
	return page;
}

const FILES = [
	"dhat/valgrind-heap.json",
	"dhat/valgrind-cpp.json",
	"pprof/go-heap.pb.gz",
	"allo/resident.allo",
];

for (const file of FILES)
	test(`${file}: the table has the rows of allo top`, async (t) => {
		const expected = top(golden(file));
		const page = await view(t, golden(file), `view=table&m=${expected.metric.name}`);
		const largest = expected.rows[0]!;
		const row = await page.getByTestId("table").locator("[aria-rowindex='2']").innerText();

		assert.ok(row.includes(largest.short ?? largest.name), `${row} has ${largest.short ?? largest.name}`);
		assert.ok(row.includes(formatValue(largest.self, expected.metric.unit)), `${row} has ${largest.self}`);
		assert.equal(
			(await page.getByTestId("sum").innerText()).trim(),
			formatValue(expected.sum, expected.metric.unit),
		);
	});

for (const file of FILES)
	test(`${file}: no view fails`, async (t) => {
		const page = await view(t, golden(file));

		for (const name of [
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
			"sql",
		]) {
			await page.getByTestId(`view-${name}`).click();
			await settle(page);
			assert.equal(await page.getByRole("alert").count(), 0, name);
		}
	});

interface DhatNode {
	number: number;
	of: number;
	merged?: number;
	parent?: number;
	values: Record<string, number>;
	calls: { name: string }[];
}

test("DHAT's presets show the program points of allo tree --dhat, and remainders open", async (t) => {
	const file = golden("dhat/valgrind-heap.json");
	const said = allo("tree", "--dhat", "--sort", "tiny", "--json", "--trim-allocator", "--trim-startup", file);
	const nodes: DhatNode[] = JSON.parse(said).nodes;
	const page = await view(t, file, "view=tree");
	const rows = page.getByTestId("dhat").locator(".grid-space [role=row]");

	assert.equal(await page.getByTestId("preset").locator("option").count(), 15);
	await page.getByTestId("preset").selectOption("tiny");
	await settle(page);
	assert.equal(await rows.count(), nodes.length);
	for (const [i, node] of nodes.entries()) {
		const text = await rows.nth(i).innerText();
		assert.ok(text.includes(formatValue(node.values.alloc_blocks ?? 0, "count")), text);
		if (node.merged) assert.ok(text.includes(`+ ${node.merged} insignificant`), text);
		else if (node.calls[0]) assert.ok(text.includes(node.calls[0].name), text);
	}
	await page
		.getByText(/\+ \d+ insignificant/)
		.first()
		.click();
	await settle(page);
	assert.ok((await rows.count()) > nodes.length);
	assert.match(page.url(), /dhat=tiny.*&open=/);
	await page.goBack();
	await settle(page);
	assert.equal(await rows.count(), nodes.length);
	await page.getByTestId("threshold").selectOption("10");
	await settle(page);
	assert.match(await page.getByTestId("dhat-about").innerText(), /significant from 10%/);
});

test("the bytes of a block show how often each of them was accessed", async (t) => {
	const page = await view(t, golden("dhat/valgrind-heap.json"), "view=tree&dhat=reads");
	const titles = await page.getByTestId("dhat").locator("svg title").allTextContents();

	assert.deepEqual(titles, [
		"Accesses by byte: 0 to 7: 12,000; 8 to 11: 11,000; 12 to 63: never",
		"Accesses by byte: 0 to 7: 900; 8 to 11: 600; 12 to 63: never",
	]);
});

test("the flame graph has the ages of blocks as colours", async (t) => {
	const page = await view(t, golden("allo/server.allo"), "view=flame");
	const legend = page.getByRole("list", { name: "Colours" });

	for (const name of ["kind", "function", "age"]) {
		await page.keyboard.press("c");
		await page.waitForURL(new RegExp(`c=${name}`));
	}
	await settle(page);
	assert.match((await legend.locator("li").last().innerText()) ?? "", /and older$/);
	const box = (await page.getByTestId("flame").boundingBox())!;
	await page.mouse.move(box.x + 20, box.y + 30);
	assert.match(await page.getByTestId("details").innerText(), /average age [\d.]+ \w?s/);
});

test("a recording offers the presets that need no accesses", async (t) => {
	const page = await view(t, golden("allo/resident.allo"), "view=tree&dhat=short-lived");

	assert.equal(await page.getByTestId("preset").locator("option").count(), 7);
	assert.ok((await page.getByTestId("dhat").locator("[role=row]").count()) > 1);
	assert.equal(await page.getByRole("alert").count(), 0);
});

test("a suppressed leak is hidden as in allo leaks --suppressions, and is in the address", async (t) => {
	const file = golden("dhat/valgrind-heap.json");
	const leaks = (...words: string[]) => JSON.parse(allo("leaks", "--json", "-n", "0", ...words, file));
	const before: { sum: number; leaks: { frames: { name: string }[]; site: number }[] } = leaks();
	const first = before.leaks[0]!;
	const pattern = `^${first.frames[first.site]!.name}$`;
	const folder = mkdtempSync(join(tmpdir(), "allo-"));
	const path = join(folder, "known.supp");
	writeFileSync(path, `leak:${pattern}\n`);
	const after = leaks("--suppressions", path);
	rmSync(folder, { recursive: true });
	const page = await view(t, file, "view=leaks");
	const sum = page.getByTestId("leaks-sum");

	assert.match(await sum.innerText(), / never freed$/);
	assert.ok((await sum.innerText()).startsWith(formatBytes(before.sum)));
	await page.getByTestId("leaks").locator("[aria-rowindex='2']").click({ button: "right" });
	await page.getByRole("menuitem", { name: /Suppress/ }).click();
	await settle(page);
	assert.ok((await sum.innerText()).startsWith(formatBytes(after.sum)), await sum.innerText());
	assert.ok(
		(await page.getByTestId("suppression").innerText()).includes(formatBytes(before.sum - after.sum)),
	);
	assert.ok(page.url().includes("&sup="), page.url());
	await page.getByTestId("add-suppression").click();
	await page.getByLabel("Suppression", { exact: true }).fill("leak:*");
	await page.keyboard.press("Enter");
	await settle(page);
	assert.equal(await page.getByTestId("suppression").count(), 2);
	await page.goBack();
	await page.getByRole("button", { name: /Remove the suppression/ }).click();
	await settle(page);
	assert.ok((await sum.innerText()).startsWith(formatBytes(before.sum)));
});

test("leaks of a recording with marks are shown by generation, and a generation can be selected", async (t) => {
	const page = await view(t, golden("allo/notes.allo"), "view=leaks");
	const table = page.getByTestId("generations");

	assert.deepEqual(await table.locator("thead button").allInnerTexts(), ["start", "load", "serve", "serve"]);
	assert.ok((await table.locator("tbody tr").count()) > 0);
	await table.locator("thead button").nth(1).click();
	await settle(page);
	assert.match(page.url(), /&t=/);
	assert.match(await page.getByTestId("leaks-sum").innerText(), / live at the end of the selection$/);
});

test("the overview of a selection has its figures, and says what is about the whole run", async (t) => {
	const file = golden("allo/resident.allo");
	const sum = (metric: string) => top(file, "-M", metric, "--range", "0ns..20000ns").sum;
	const page = await view(t, file, "view=overview");

	assert.equal(await page.getByTestId("overview-scope").count(), 0);
	assert.doesNotMatch(await page.getByTestId("overview").innerText(), /whole run/);
	await page.goto(page.url().replace(/#.*/, "#view=overview&t=0s..0.00002s"));
	await settle(page);
	const figures = await page.getByTestId("figures").innerText();
	for (const metric of ["peak_bytes", "end_bytes", "alloc_bytes"])
		assert.ok(figures.includes(formatBytes(sum(metric))), `${figures} has ${metric}`);
	assert.match(figures, /Live at the end of the selection/i);
	assert.match(await page.getByTestId("coverage").locator("h2").innerText(), /whole run/);
	assert.match(await page.getByTestId("findings").locator("h2").innerText(), /whole run/);
});

test("a filter of the page is that of the command line", async (t) => {
	const file = golden("dhat/valgrind-heap.json");
	const { rows } = top(file);
	const name = rows.find(({ self }) => self > 0)?.name ?? "main";
	const expected = top(file, "--focus", `=${name}`);
	const page = await view(t, file, `view=table&f=focus:=${encodeURIComponent(name)}`);

	assert.ok((await page.getByTestId("sum").innerText()).startsWith(formatBytes(expected.sum)));
});

test("queries: an example runs, and a saved one is there after a reload", async (t) => {
	const page = await view(t, golden("allo/server.allo"), "view=sql");
	const queries = page.getByTestId("queries");

	await queries.getByText("Sizes by number of blocks").click();
	await settle(page);
	assert.ok((await page.getByTestId("result").locator("[role=row]").count()) > 2);
	await page.getByLabel("SQL query").fill("SELECT 23");
	await page.getByRole("button", { name: "Save" }).click();
	await page.reload();
	await queries.getByText("SELECT 23").click();
	await settle(page);
	assert.match(await page.getByTestId("result").innerText(), /23$/);
	await queries.getByLabel("Forget SELECT 23").click();
	assert.equal(await queries.getByText("SELECT 23").count(), 0);
});

/* Drops a file onto the page. */
async function drop(page: Page, name: string, content: Buffer): Promise<void> {
	await page.evaluate(
		([title, base64]) => {
			const bytes = Uint8Array.from(atob(base64!), (c) => c.charCodeAt(0));
			const dataTransfer = new DataTransfer();
			dataTransfer.items.add(new File([bytes], title!));
			dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
		},
		[name, content.toString("base64")],
	);
}

test("a file that is dropped onto the page opens in the browser, and is not sent to the server", async (t) => {
	const page = await view(t, golden("allo/server.allo"), "view=table");
	const expected = top(golden("dhat/valgrind-heap.json"), "-M", "peak_bytes");
	const sent: string[] = [];

	page.on("request", (request) => {
		if (!request.url().startsWith("blob:"))
			sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
	});
	await drop(page, "dropped.json", readFileSync(golden("dhat/valgrind-heap.json")));
	await page.getByTestId("overview").waitFor();
	assert.equal(await page.locator("h1").innerText(), "dropped.json");
	await page.getByTestId("view-table").click();
	await settle(page);
	assert.equal(await page.getByTestId("sum").innerText(), formatBytes(expected.sum));
	assert.deepEqual(sent, ["GET /engine"]);
});

test("a dropped file that is no profile is refused, and the page stays", async (t) => {
	const page = await view(t, golden("allo/server.allo"));

	await drop(page, "notes.txt", Buffer.from("hello\u0000world"));
	const banner = page.getByTestId("refused");
	assert.match(await banner.innerText(), /^notes\.txt: is not a profile/);
	assert.equal(await page.getByTestId("overview").count(), 1);
	await banner.getByRole("button").click();
	assert.equal(await banner.count(), 0);
});
