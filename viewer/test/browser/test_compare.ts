/* test_compare.ts - comparisons: of two recordings, and of two ranges of one. */
import assert from "node:assert/strict";
import test, { after, type TestContext } from "node:test";
import { formatBytes, formatChange } from "../../src/format.ts";
import { DURATION, makeBlocks, STACKS } from "../fake_data.ts";
import { FakeEngine } from "../fake_engine.ts";
import { axeProblems, closeBrowser, open, settle } from "./browser.ts";
import { VIEWS } from "./views.ts";

after(closeBrowser);

/* The old recording has neither the blocks of one stack nor every second block of another. */
function pair(): FakeEngine {
	const blocks = makeBlocks();
	const old = blocks.filter(({ stack }, i) => stack !== 1 && (stack !== 5 || i % 2 === 0));

	return new FakeEngine(blocks, new FakeEngine(old));
}

const openPair = (t: TestContext, state: string) => open(t, state, { bypassCSP: true }, pair());

test("two recordings are shown as their comparison, with a time axis", async (t) => {
	const { page, engine } = await openPair(t, "view=overview");

	await settle(page);
	await page.getByTestId("strip").waitFor();
	assert.match(page.url(), /file=2/);
	const text = await page.getByTestId("overview").innerText();
	const [now, before] = [engine, engine.old!].map((each) => each.peakIn({ from: 0, to: DURATION }).bytes);
	assert.ok(text.includes(`was ${formatBytes(before!)} ${formatChange(now! - before!, "bytes")}`), text);
	assert.ok(engine.asked.some(({ ask, file }) => ask === "timeline" && file === 2));
});

test("a range is of both recordings, and the base can keep its own", async (t) => {
	const { page, engine } = await openPair(t, "view=sizes&file=2&t=2s..5s");

	await settle(page);
	const sizes = () => engine.asked.filter(({ ask }) => ask === "sizes").at(-1)!;
	assert.deepEqual([sizes().from, sizes().to, sizes().base], [2e9, 5e9, undefined]);
	await page.getByTestId("compare").click();
	await page.getByRole("menuitem", { name: /Keep this range/ }).click();
	await settle(page);
	assert.deepEqual(sizes().base, { file: 2, from: 2e9, to: 5e9 });
	assert.match(await page.getByTestId("base").innerText(), /old\.allo 2\.000 s to 5\.000 s/);
});

test("leaks have the value before and a signed change, and no negative times", async (t) => {
	const { page } = await openPair(t, "view=leaks&file=2");

	await settle(page);
	const leaks = await page.getByTestId("leaks").innerText();
	assert.match(leaks, /Before/);
	assert.match(leaks, /\u25b2 \+394\.1 KiB/);
	assert.doesNotMatch(leaks, /-1 ns/);
	assert.match(await page.getByTestId("leaks-sum").innerText(), /, was 4\.01 MiB \(\u25b2 \+3\.91 MiB\)/);
});

test("sizes and lifetimes have a second bar for the base", async (t) => {
	const { page } = await openPair(t, "view=sizes&file=2");

	await settle(page);
	const bars = page.getByTestId("sizes").locator("li");
	assert.equal(await page.getByTestId("sizes").locator(".is-before").count(), await bars.count());
	assert.match(await page.getByTestId("sizes").innerText(), /\u25b2 \+\d/);
	assert.match(await page.getByTestId("exact-sizes").innerText(), /Change/);
	await page.evaluate(() => {
		location.hash = "#v=1&view=lifetimes&file=2";
	});
	await page.getByTestId("lifetimes").locator(".is-before").first().waitFor();
});

test("threads, callers and callees have changes", async (t) => {
	const { page } = await openPair(t, "view=threads&file=2");

	await settle(page);
	assert.match(await page.getByTestId("threads").innerText(), /Allocated change/);
	await page.evaluate(() => {
		location.hash = "#v=1&view=sandwich&file=2";
	});
	await settle(page);
	await page.getByTestId("functions").getByText("Session::create").dblclick();
	await page.getByTestId("middle").getByText(/^was /).waitFor();
	assert.match(await page.getByTestId("callers").innerText(), /Change/);
});

test("single blocks are those of the new recording, and the view says so", async (t) => {
	const { page } = await openPair(t, "view=blocks&file=2");

	await settle(page);
	assert.match(
		await page.getByTestId("not-compared").innerText(),
		/not compared: these are the blocks of server\.4711\.allo/,
	);
});

test("the figures of a selection have the value before, as those of the whole run", async (t) => {
	const { page, engine } = await open(t, "view=overview&t=2s..5s&b=0:0s..1s");
	const now = engine.peakIn({ from: 2e9, to: 5e9 });
	const before = engine.peakIn({ from: 0, to: 1e9 });

	await settle(page);
	const figures = await page.getByTestId("figures").innerText();
	assert.ok(figures.includes(formatBytes(now.bytes)), figures);
	assert.ok(
		figures.includes(`was ${formatBytes(before.bytes)} ${formatChange(now.bytes - before.bytes, "bytes")}`),
		figures,
	);
	assert.match(
		figures,
		/Live at the end of the selection[\s\S]*was .*\n[\s\S]*Allocated[\s\S]*was [\s\S]*Churn[\s\S]*was /,
	);
	assert.match(figures, /Duration\s+3\.00 s\s+was 1\.00 s \u25b2 \+2\.00 s/);
});

test("parts of the page that ignore the base say so", async (t) => {
	const { page } = await open(t, "view=overview");
	const notes = page.getByTestId("not-compared");

	await settle(page);
	await page.getByTestId("history").waitFor();
	assert.equal(await notes.count(), 0);
	await page.evaluate(() => {
		location.hash = "#v=1&view=overview&b=0:0s..1s";
	});
	await settle(page);
	assert.match(
		await notes.innerText(),
		/This chart is not compared: it shows the memory of the selected time/,
	);
	await page.evaluate(() => {
		location.hash = "#v=1&view=leaks&b=0:0s..1s";
	});
	await settle(page);
	await page.getByTestId("generations").waitFor();
	assert.match(await notes.innerText(), /Generations are not compared: these are the segments/);
});

test("the legend of the flame graph names new and gone boxes", async (t) => {
	const { page } = await openPair(t, "view=flame&file=2");

	await settle(page);
	const legend = await page.getByRole("list", { name: "Colours" }).innerText();
	assert.match(legend, /\u25bc shrank\s+same\s+\u25b2 grew\s+new\s+gone/);
});

test("the flame graph says which boxes are new", async (t) => {
	const { page } = await openPair(t, `view=flame&file=2&z=${STACKS[1]!.join(".")}`);

	await settle(page);
	const label = await page.getByRole("treeitem").getAttribute("aria-label");
	assert.match(label ?? "", /\u25b2 \+248\.3 KiB \(new\) against the base/);
});

test("a comparison without times says that both files need them", async (t) => {
	const engine = pair();
	const head = engine.pairHead();
	engine.pairHead = () => ({
		...head,
		has: { comparison: true },
		lacks: [{ name: "sizes", data: "sizes of blocks", needs: "allo run PROGRAM" }],
		before: undefined,
	});
	const { page } = await open(t, "view=sizes&file=2", {}, engine);
	const missing = page.getByTestId("missing");

	await missing.waitFor();
	assert.match(await missing.innerText(), /At least one of the two files has no sizes of blocks/);
	await missing.getByRole("button", { name: "Show server.4711.allo alone" }).click();
	await page.getByTestId("sizes").waitFor();
	assert.doesNotMatch(page.url(), /file=2/);
});

test("a mark of the same recording is a base", async (t) => {
	const { page, engine } = await open(t, "view=leaks");

	await settle(page);
	await page.getByTestId("compare").click();
	await page.getByRole("menuitem", { name: /the mark warm/ }).click();
	await settle(page);
	const { base } = engine.asked.filter(({ ask }) => ask === "leaks").at(-1)!;
	assert.deepEqual(base, { file: 0, from: 1_600_000_000, to: 1_600_000_001 });
	assert.match(await page.getByTestId("leaks").innerText(), /\u25b2 \+/);
});

for (const theme of ["light", "dark", "contrast"])
	test(`no serious problems in comparisons: ${theme}`, async (t) => {
		const { page } = await openPair(t, "view=overview&file=2");

		await page.evaluate((name) => localStorage.setItem("allo-theme", name), theme);
		await page.reload();
		await page.getByTestId("overview").waitFor();
		for (const view of VIEWS) {
			await page.evaluate((name) => {
				location.hash = `#v=1&file=2&view=${name}`;
			}, view);
			await settle(page);
			assert.equal(await axeProblems(page), "", `${view}, ${theme}`);
		}
	});
