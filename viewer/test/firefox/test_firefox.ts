/* test_firefox.ts - the page in Firefox, with mouse and keyboard: its numbers are those of the command line. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before, type TestContext } from "node:test";
import { formatValue } from "../../src/format.ts";
import { allo, golden, startView, top } from "../real/allo.ts";
import { Firefox, KEYS } from "./marionette.ts";

const RECORDING = golden("allo/server.allo");

let firefox: Firefox;

before(async () => {
	firefox = await Firefox.launch(process.env.FIREFOX ?? "firefox-esr");
});
after(() => firefox?.close());

const byId = (id: string) => `[data-testid="${id}"]`;

/* Waits until no view waits for a reply. */
const settle = () =>
	firefox.until("the page has its data", async () => {
		const isThere = (await firefox.count(byId("details"))) > 0;
		return isThere && (await firefox.count("[aria-busy=true], .skeleton")) === 0;
	});

async function view(t: TestContext, state = ""): Promise<void> {
	t.after(async () => assert.deepEqual(await firefox.complaints(), []));
	await firefox.open(`${await startView(t, RECORDING)}&${state}`);
	await settle();
}

const sum = async () => (await firefox.text(byId("sum")))?.trim();

const fragment = () => firefox.run<string>("return location.hash");

const VIEWS = [
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
];

test("errors and refused requests of a page are noticed", async () => {
	const policy = `<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'; img-src 'none'">`;

	await firefox.open(`data:text/html,${policy}<img src="http://127.0.0.1:9/"><script>undefined.x</script>`);
	const found = await firefox.complaints();
	assert.equal(found.length, 2, found.join("; "));
	assert.deepEqual(await firefox.complaints(), []);
});

test("every view opens", async (t) => {
	await view(t);
	for (const name of VIEWS) {
		await firefox.click(byId(`view-${name}`));
		await settle();
		assert.equal(await firefox.count("main [role=alert]"), 0, name);
	}
});

test("the table has the rows of allo top", async (t) => {
	const { metric, rows, sum: expected } = top(RECORDING);
	const largest = rows[0]!;

	await view(t, `view=table&m=${metric.name}`);
	const row = (await firefox.text("[data-testid=table] [aria-rowindex='2']")) ?? "";
	assert.ok(row.includes(largest.short ?? largest.name), `${row} has ${largest.short ?? largest.name}`);
	assert.ok(row.includes(formatValue(largest.self, metric.unit)), `${row} has ${largest.self}`);
	assert.equal(await sum(), formatValue(expected, metric.unit));
});

interface Box {
	x: number;
	y: number;
	width: number;
	height: number;
}

test("the mouse selects a range, and all numbers are those of allo top --range", async (t) => {
	await view(t, "view=table&m=alloc_bytes");
	const whole = await sum();
	const { x, y, width, height } = await firefox.run<Box>(
		"const { x, y, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();" +
			"return { x, y, width, height }",
		`${byId("strip")} canvas`,
	);
	await firefox.drag([x + 0.3 * width, y + height / 2], [x + 0.6 * width, y + height / 2]);
	/* The last move may arrive after the actions have ended. */
	await firefox.until("a range is selected, and stays", async () => {
		const found = await fragment();
		await settle();
		return /[#&]t=/.test(found) && found === (await fragment());
	});
	const [, from, to] =
		/[#&]t=([^.&]+(?:\.\d+)?\w+)\.\.([^&]+)/.exec(decodeURIComponent(await fragment())) ?? [];
	const expected = top(RECORDING, "-M", "alloc_bytes", "--range", `${from}..${to}`);
	assert.equal(await sum(), formatValue(expected.sum, "bytes"));
	assert.notEqual(await sum(), whole);
	await firefox.press(KEYS.escape);
});

test("keys open views, the sheet of keys and the search", async (t) => {
	await view(t);
	await firefox.press("2");
	await firefox.until("the flame graph is shown", async () => (await fragment()).includes("view=flame"));
	await settle();
	await firefox.press("?");
	await firefox.until(
		"the sheet is shown",
		async () => (await firefox.count("[role=dialog], dialog[open]")) > 0,
	);
	await firefox.press(KEYS.escape);
	await firefox.until("it is closed", async () => (await firefox.count("[role=dialog], dialog[open]")) === 0);
	await firefox.press("/");
	await firefox.press("main");
	await firefox.until("matches are counted", async () =>
		/\d/.test((await firefox.text(byId("search-result"))) ?? ""),
	);
});

test("a report opens from a file, with the same numbers", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "allo-report-"));
	const path = join(folder, "report.html");
	const { sum: expected, metric } = top(RECORDING);

	t.after(() => rmSync(folder, { recursive: true, force: true }));
	t.after(async () => assert.deepEqual(await firefox.complaints(), []));
	allo("report", "-q", "-o", path, RECORDING);
	await firefox.open(`file://${path}#view=table&m=${metric.name}`);
	await settle();
	assert.equal(await sum(), formatValue(expected, metric.unit));
});
