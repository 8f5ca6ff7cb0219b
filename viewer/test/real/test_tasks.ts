/*
 * test_tasks.ts - usual tasks, each in at most eight actions: with the mouse, and with the keyboard alone.
 *
 * The programs are examples of the documentation.  The answers come from the command line.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { closeBrowser, newPage, settle } from "../browser/browser.ts";
import { allo, golden, startView, top } from "./allo.ts";

const EXAMPLES = join(golden(".."), "..", "examples", "record");
const folder = mkdtempSync(join(tmpdir(), "allo-tasks-"));
const path = (name: string) => join(folder, name);

function record(name: string, source: string, ...words: string[]): void {
	execFileSync(source.endsWith(".cpp") ? "g++" : "gcc", [
		"-g",
		"-O1",
		join(EXAMPLES, source),
		"-o",
		path(name),
	]);
	allo("run", "-q", "-o", path(`${name}.allo`), "--", path(name), ...words);
}

before(() => {
	writeFileSync(path("words.txt"), "word\n".repeat(20000));
	writeFileSync(path("fewer.txt"), "word\n".repeat(10000));
	record("sessions", "sessions.cpp");
	record("index", "index.c", path("words.txt"));
	allo("run", "-q", "-o", path("before.allo"), "--", path("index"), path("fewer.txt"));
});
after(async () => {
	await closeBrowser();
	rmSync(folder, { recursive: true, force: true });
});

const MOST = 8;

/* A user, whose actions count. */
class User {
	private actions = 0;

	constructor(readonly page: Page) {}

	private async act(action: Promise<void>): Promise<void> {
		this.actions++;
		await action;
		await settle(this.page);
		assert.ok(this.actions <= MOST, `at most ${MOST} actions`);
	}

	press = (key: string) => this.act(this.page.keyboard.press(key));
	click = (selector: string) => this.act(this.page.locator(selector).first().click());
}

async function open(t: TestContext, ...files: string[]): Promise<User> {
	const url = await startView(t, ...files);
	const { page } = await newPage(t);

	await page.goto(url);
	await page.getByTestId("details").waitFor();
	await settle(page);
	return new User(page);
}

const byId = (id: string) => `[data-testid="${id}"]`;

/* A task, done with the mouse and with the keyboard. */
function task(
	claim: string,
	files: string[],
	ways: Record<"mouse" | "keyboard", (user: User) => Promise<void>>,
	check: (page: Page) => Promise<void>,
) {
	for (const [way, run] of Object.entries(ways))
		test(`${claim}, with the ${way}`, async (t) => {
			const user = await open(t, ...files.map(path));
			await run(user);
			await check(user.page);
		});
}

/* The current line of the source view is on screen, and has this text. */
async function showsLine(page: Page, text: RegExp): Promise<void> {
	const line = page.locator(`${byId("source")} .is-current`);
	assert.match(await line.innerText(), text);
	const [box, grid] = [await line.boundingBox(), await page.getByTestId("source").boundingBox()];
	assert.ok(box && grid && box.y > grid.y && box.y + box.height < grid.y + grid.height);
}

/* The line that the first leak of `allo leaks` names. */
function leakingLine(): RegExp {
	const { leaks } = JSON.parse(allo("leaks", "--json", path("sessions.allo")));
	const { line: number } = leaks[0].frames[leaks[0].site];
	const text = readFileSync(join(EXAMPLES, "sessions.cpp"), "utf8").split("\n")[number - 1]!.trim();
	return new RegExp(text.replace(/[^\w\s]/g, "."));
}

task(
	"the line of the largest leak is found",
	["sessions.allo"],
	{
		mouse: async (user) => {
			await user.click(byId("view-leaks"));
			await user.click(`${byId("leaks")} [aria-rowindex='2']`);
			await user.click(`${byId("stack")} .own ~ .place, ${byId("stack")} button:has(.own) + .place`);
		},
		keyboard: async (user) => {
			await user.press("6");
			await user.press("Home");
			await user.press("l");
		},
	},
	(page) => showsLine(page, leakingLine()),
);

task(
	"the first screen leads to the line of the largest leak",
	["sessions.allo"],
	{
		mouse: (user) => user.click(`${byId("findings")} .finding:has-text("never freed") a.place`),
		keyboard: async (user) => {
			await user.press("n");
			await user.press("Enter");
		},
	},
	(page) => showsLine(page, leakingLine()),
);

task(
	"the memory that is left over leads to the line of the largest leak",
	["sessions.allo"],
	{
		mouse: async (user) => {
			await user.click(".figure a:has-text('show leaks')");
			await user.click(`${byId("leaks")} [aria-rowindex='2'] a.place`);
		},
		keyboard: async (user) => {
			await user.press("6");
			await user.press("End");
			await user.press("Home");
			await user.press("l");
		},
	},
	(page) => showsLine(page, leakingLine()),
);

task(
	"the holder of the peak is found",
	["sessions.allo"],
	{
		mouse: async (user) => {
			await user.click(byId("view-table"));
		},
		keyboard: async (user) => {
			await user.press("P");
			await user.press("3");
		},
	},
	async (page) => {
		const { rows } = top(path("sessions.allo"), "-M", "peak_bytes");
		const row = await page.locator(`${byId("table")} [aria-rowindex='2']`).innerText();
		assert.ok(row.includes(rows[0]!.short ?? rows[0]!.name), row);
	},
);

task(
	"a buffer that grows by one is found",
	["index.allo"],
	{
		mouse: (user) => user.click(`${byId("findings")} .finding:has-text("add_line_number") a.place`),
		keyboard: async (user) => {
			await user.press("n");
			await user.press("Enter");
		},
	},
	(page) => showsLine(page, /realloc/),
);

task(
	"the reallocs of the largest block are listed from the first on",
	["index.allo"],
	{
		mouse: async (user) => {
			await user.click(byId("view-blocks"));
			await user.click(`${byId("stack")} .tool`);
		},
		keyboard: async (user) => {
			await user.press("0");
			await user.press("Enter");
		},
	},
	async (page) => {
		const blocks = page.getByTestId("blocks");
		assert.equal(await blocks.getAttribute("aria-rowcount"), "20001"); /* with the head */
		assert.match(await blocks.locator("[aria-rowindex='2']").innerText(), /^4 B\b/);
		assert.match(await blocks.locator("[aria-rowindex='4']").innerText(), /^12 B\b[\s\S]*\b2\b/);
		await page.keyboard.press("z");
		await settle(page);
		assert.match(await blocks.locator("[aria-rowindex='2']").innerText(), /^78\.1 KiB\b/);
	},
);

task(
	"the function that grew between two versions is found",
	["index.allo", "before.allo"],
	{
		mouse: (user) => user.click(byId("view-table")),
		keyboard: (user) => user.press("3"),
	},
	async (page) => {
		const { rows } = JSON.parse(allo("diff", "--json", path("before.allo"), path("index.allo")));
		const row = await page.locator(`${byId("table")} [aria-rowindex='2']`).innerText();
		assert.ok(row.includes(rows[0].short ?? rows[0].name), row);
	},
);
