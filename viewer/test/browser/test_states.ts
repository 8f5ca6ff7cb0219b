/* test_states.ts - states that are easily forgotten: missing data, lost servers, hostile names, deep stacks, small screens. */
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import test, { after } from "node:test";
import type { Request } from "../../src/engine.ts";
import { encodeReply } from "../encode.ts";
import { DURATION } from "../fake_data.ts";
import { FakeEngine } from "../fake_engine.ts";
import { closeBrowser, open, settle } from "./browser.ts";
import { VIEWS } from "./views.ts";

after(closeBrowser);

/* A profile of totals, as other tools write it. */
class TotalsOnly extends FakeEngine {
	override openHead() {
		const head = super.openHead();
		const lacks = ["time", "sizes", "blocks", "threads"].map((name) => ({
			name,
			data: `the ${name}`,
			needs: "allo run PROGRAM",
		}));

		return {
			file: { name: "/tmp/dhat.out.12", format: "dhat" },
			has: { names: true, lines: true },
			lacks,
			metrics: head.metrics,
			modules: head.modules,
			calls: head.calls,
			notes: [],
		};
	}
}

test("a file without a time axis offers its moments, and names the command that records one", async (t) => {
	const { page } = await open(t, "view=table", {}, new TotalsOnly());

	await settle(page);
	assert.match(await page.getByTestId("instants").innerText(), /no time axis[\s\S]*allo run PROGRAM/);
	await page.getByTestId("instants").getByRole("button", { name: "End bytes" }).click();
	await page.waitForURL(/m=end_bytes/);
	assert.match((await page.getByTestId("view-blocks").getAttribute("class")) ?? "", /is-missing/);
	assert.doesNotMatch((await page.getByTestId("view-tree").getAttribute("class")) ?? "", /is-missing/);
	await page.getByTestId("view-blocks").click();
	assert.match(
		await page.getByTestId("missing").innerText(),
		/dhat have no the blocks[\s\S]*allo run PROGRAM/,
	);
	assert.equal(await page.locator("h1").innerText(), "dhat.out.12");
	await page.getByTestId("view-leaks").click();
	await settle(page);
	assert.deepEqual(await page.getByTestId("leaks").getByRole("columnheader").allInnerTexts(), [
		"Site",
		"Live bytes",
		"Blocks",
	]);
	assert.equal(await page.getByRole("group", { name: "Kind" }).count(), 0);
	await page.getByTestId("view-overview").click();
	await settle(page);
	assert.match(await page.getByTestId("figures").innerText(), /Peak\s+33\.0 MiB/);
	assert.equal(await page.getByTestId("overview-scope").count(), 0);
});

test("when the server is gone, the data stays and a banner says so until it is back", async (t) => {
	const { page, server, complaints } = await open(t, "view=table");
	const { port } = server.address() as AddressInfo;

	await settle(page);
	server.closeAllConnections();
	await new Promise((resolve) => server.close(resolve));
	await page.getByRole("button", { name: "Modules" }).click();
	await page.getByTestId("gone").waitFor();
	assert.match(await page.getByTestId("table").innerText(), /Image::decode/);
	server.listen(port, "127.0.0.1");
	await page.getByTestId("table").getByText("libjson.so.2").waitFor();
	assert.equal(await page.getByTestId("gone").count(), 0);
	complaints.length = 0; /* Chromium reports refused connections */
});

const HOSTILE = [
	"</script><img src=x onerror=alert(1)>",
	"\u202eevil\u2066name",
	"a".repeat(100_000),
	"\u0000\u0007\u001b[31mred",
	"<b>bold</b>&amp;",
];

class HostileNames extends FakeEngine {
	override ask(request: Request) {
		if (request.ask !== "names") return super.ask(request);
		const ids = request.ids as number[];
		const texts = ids.map((id) => HOSTILE[id % HOSTILE.length]!);
		return encodeReply(
			"names",
			{ count: 20 },
			{
				call: Uint32Array.from(ids),
				name: texts,
				full: texts,
				file: texts,
				line: Uint32Array.from(ids),
				module: Uint32Array.from(ids, () => 1),
				kind: Uint8Array.from(ids, () => 0),
			},
		);
	}
}

test("hostile names are only text", async (t) => {
	const { page } = await open(t, "view=flame", {}, new HostileNames());

	for (const view of ["flame", "table", "tree", "leaks", "blocks", "sandwich"]) {
		await page.getByTestId(`view-${view}`).click();
		await settle(page);
		assert.equal(await page.locator("main img, main b").count(), 0);
	}
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});

const DEEP = 100_000;

class DeepStack extends FakeEngine {
	override ask(request: Request) {
		if (request.ask !== "tree" || request.least === 1) return super.ask(request);
		const depths = Uint32Array.from({ length: DEEP + 1 }, (_, i) => i);
		const ones = new Float64Array(DEEP + 1).fill(1);
		return encodeReply(
			"tree",
			{ sum: 1, whole: 1, samples: 1 },
			{
				call: depths.map((depth) => (depth === 0 ? 0 : 1 + (depth % 20))),
				line: new Uint32Array(DEEP + 1),
				depth: depths,
				self: new Float64Array(DEEP + 1),
				total: ones,
				left_out: new Uint32Array(DEEP + 1),
				left_out_value: new Float64Array(DEEP + 1),
			},
		);
	}
}

test("a stack of 100,000 calls can be scrolled to its end", async (t) => {
	const { page } = await open(t, "view=flame", {}, new DeepStack());

	await settle(page);
	const flame = page.getByTestId("flame");
	await flame.evaluate((element) => {
		element.scrollTop = element.scrollHeight;
	});
	const box = (await flame.boundingBox())!;
	await page.mouse.move(box.x + 50, box.y + box.height - 8);
	assert.match(await page.getByTestId("details").innerText(), /1 B, 100\.0% of all/);
	await page.getByTestId("view-tree").click();
	await settle(page);
});

test("filters that hide everything are named, and removed by a click", async (t) => {
	const { page } = await open(t, "view=flame&f=focus:nothing_like_this");

	await settle(page);
	assert.match(await page.getByTestId("nothing").innerText(), /focus:nothing_like_this may hide it/);
	await page.getByTestId("nothing").getByRole("button").click();
	await page.getByTestId("flame").waitFor();
});

class Empty extends FakeEngine {
	constructor() {
		super([]);
	}
}

test("a recording without events shows no errors", async (t) => {
	const { page } = await open(t, "", {}, new Empty());

	for (const view of [
		"overview",
		"flame",
		"table",
		"tree",
		"leaks",
		"sizes",
		"lifetimes",
		"threads",
		"blocks",
	]) {
		await page.getByTestId(`view-${view}`).click();
		await settle(page);
		assert.equal(await page.getByRole("alert").count(), 0, view);
	}
});

test("nothing is wider than a screen of 360 pixels", async (t) => {
	const { page } = await open(t, "", { viewport: { width: 360, height: 740 } });

	for (const view of VIEWS) {
		await page.evaluate((name) => {
			location.hash = `#v=1&view=${name}`;
		}, view);
		await settle(page);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
	}
});

class Growing extends FakeEngine {
	ends = 4_000_000_000;

	override openHead() {
		return { ...super.openHead(), growing: true, duration_ns: this.ends };
	}

	override ask(request: Request) {
		if (request.ask !== "live") return super.ask(request);
		this.ends += 1_000_000_000;
		return encodeReply("live", { ns: this.ends, is_running: true });
	}
}

test("a growing recording is followed until the page is frozen", async (t) => {
	const engine = new Growing();
	const { page } = await open(t, "view=table", {}, engine);

	await page.getByText("whole run, 5.00 s").waitFor();
	await page.keyboard.press(" ");
	await page.getByRole("button", { name: "frozen" }).waitFor();
	await page.keyboard.press("g");
	await page.waitForURL(/mark=\d+/);
});

test("a page that follows a recording shows one state of it", async (t) => {
	const { page } = await open(t, "view=overview", {}, new Growing());

	await settle(page);
	const busy = await page.evaluate(async () => {
		const duration = () => document.querySelector(".figures > :last-child strong")!.textContent;
		const seen = new Set([duration()]);
		let frames = 0;

		while (seen.size < 3) {
			await new Promise((resolve) => requestAnimationFrame(resolve));
			seen.add(duration());
			if (document.querySelector("[aria-busy=true]")) frames++;
		}
		return frames;
	});
	assert.equal(busy, 0);
});

test("the palette finds views, metrics and functions", async (t) => {
	const { page } = await open(t, "view=flame");

	await settle(page);
	await page.keyboard.press(":");
	await page.keyboard.type("metric alloc bytes");
	await page.keyboard.press("Enter");
	await page.waitForURL(/m=alloc_bytes/);
	await page.keyboard.press("Control+k");
	await page.keyboard.type("parse_body");
	await page.getByRole("option", { name: /http::parse_body/ }).click();
	await page.waitForURL(/view=sandwich/);
});

const EXACT_NS = DURATION / 2;

class Bounded extends FakeEngine {
	override openHead() {
		return { ...super.openHead(), exact_ns: EXACT_NS };
	}
}

test("a bounded recording is shown, and selected, from where its events are known", async (t) => {
	const { page } = await open(t, "view=overview", {}, new Bounded());
	const strip = page.getByTestId("strip").locator("canvas");
	const since = `${(EXACT_NS / 1e9).toFixed(3)} s`;

	await settle(page);
	assert.match(await page.getByTestId("bounded").innerText(), new RegExp(`sums are kept .* before ${since}`));
	assert.match(await page.getByTestId("holders-alloc_bytes").innerText(), new RegExp(`since ${since}`));
	assert.equal(await page.getByTestId("handle-from").getAttribute("aria-valuemin"), String(EXACT_NS));
	const box = (await strip.boundingBox())!;
	await page.mouse.move(box.x + 20, box.y + 50);
	await page.mouse.down();
	await page.mouse.move(box.x + 0.75 * box.width, box.y + 50);
	await page.mouse.up();
	await page.waitForURL(new RegExp(`t=${EXACT_NS / 1e9}s\\.\\.`));
});

class OneOfMany extends FakeEngine {
	override openHead() {
		const head = super.openHead();
		const recordings = ["run.allo.d/a.1.allo", "run.allo.d/b.2.allo", "run.allo.d/b.3.allo"];

		return { ...head, file: { ...(head.file as object), name: recordings[1], recordings } };
	}
}

test("one recording of a directory leads to the others", async (t) => {
	const { page } = await open(t, "view=table", {}, new OneOfMany());
	const banner = page.getByTestId("recordings");

	assert.match(await banner.innerText(), /b\.2\.allo is the largest of 3 recordings/);
	await banner.getByText("How to open the others").click();
	assert.deepEqual(await banner.locator("code").allInnerTexts(), [
		"allo view run.allo.d/a.1.allo",
		"allo view run.allo.d/b.3.allo",
	]);
});

test("another theme draws the timeline anew", async (t) => {
	const { page } = await open(t, "view=table", { colorScheme: "light" });
	const corner = () =>
		page
			.getByTestId("strip")
			.locator("canvas")
			.evaluate((canvas) => [
				...(canvas as HTMLCanvasElement).getContext("2d")!.getImageData(0, 0, 1, 1).data,
			]);

	await settle(page);
	assert.deepEqual(await corner(), [255, 255, 255, 255]);
	await page.keyboard.press("T");
	await page.keyboard.press("T");
	assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
	await settle(page);
	assert.ok((await corner())[0]! < 64);
});

class WithoutBlocks extends FakeEngine {
	override ask(request: Request) {
		if (request.ask !== "blocks") return super.ask(request);
		this.asked.push(request);
		return encodeReply("blocks", { error: { code: "limit", message: "too many blocks", hint: "" } }, {});
	}
}

test("a page that fails is asked for again by the user only", async (t) => {
	const { page, engine } = await open(t, "view=blocks", {}, new WithoutBlocks());
	const count = () => engine.asked.filter(({ ask }) => ask === "blocks").length;

	await page.getByRole("alert").getByText("too many blocks").waitFor();
	await settle(page);
	assert.equal(count(), 1);
	await page.getByRole("button", { name: "Try again" }).click();
	await settle(page);
	await page.getByRole("alert").getByText("too many blocks").waitFor();
	assert.equal(count(), 2);
});
