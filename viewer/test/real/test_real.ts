/*
 * test_real.ts - the page on the server of `allo view`: its numbers are those of the command line.
 *
 * ALLO is the program, GOLDEN the folder of sample files.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import test, { after, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { formatBytes, formatValue } from "../../src/format.ts";
import { closeBrowser, newPage, settle } from "../browser/browser.ts";

after(closeBrowser);

const ALLO = process.env.ALLO ?? "allo";
const GOLDEN = process.env.GOLDEN ?? "../tests/golden";

const golden = (path: string) => join(GOLDEN, path);

interface TopRow {
	short?: string;
	name: string;
	self: number;
	total: number;
}

interface Top {
	metric: { name: string; unit: string };
	sum: number;
	row_count: number;
	rows: TopRow[];
}

function top(file: string, ...words: string[]): Top {
	return JSON.parse(
		execFileSync(ALLO, ["top", "--json", "-n", "0", ...words, file], {
			encoding: "utf8",
			maxBuffer: 1 << 28,
		}),
	);
}

/* Starts `allo view` and opens its address. */
async function view(t: TestContext, file: string, state = ""): Promise<Page> {
	const server = spawn(ALLO, ["view", "--no-open", "--listen", "127.0.0.1:0", file]);
	const url = await new Promise<string>((resolve, reject) => {
		let said = "";
		const listen = (data: Buffer) => {
			said += data;
			const found = /http:\/\/\S+(?=\s)/.exec(said); // the whole line
			if (found) resolve(found[0]);
		};
		server.stdout.on("data", listen);
		server.stderr.on("data", listen);
		server.on("exit", () => reject(new Error(`allo view ended: ${said}`)));
	});
	const { page } = await newPage(t);

	t.after(() => void server.kill());
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

test("a filter of the page is that of the command line", async (t) => {
	const file = golden("dhat/valgrind-heap.json");
	const { rows } = top(file);
	const name = rows.find(({ self }) => self > 0)?.name ?? "main";
	const expected = top(file, "--focus", `=${name}`);
	const page = await view(t, file, `view=table&f=focus:=${encodeURIComponent(name)}`);

	assert.ok((await page.getByTestId("sum").innerText()).startsWith(formatBytes(expected.sum)));
});
