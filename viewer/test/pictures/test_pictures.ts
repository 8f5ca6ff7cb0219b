/*
 * test_pictures.ts - every view looks as in its reference picture, in light and dark.
 *
 * REFRESH=1 takes the references anew: look at each of them before you commit it.  PICTURES=FOLDER also writes all
 * pictures in full size, those of small screens and of high contrast included.  ONLY=flame,dark restricts them.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { closeBrowser, newPage, open, settle } from "../browser/browser.ts";
import { difference, halved } from "./compare.ts";

declare const VIEWER_ROOT: string;

after(closeBrowser);

const VIEWS = [
	"overview",
	"flame",
	"table",
	"tree",
	"sandwich&call=4",
	"leaks",
	"sizes",
	"lifetimes",
	"threads",
	"blocks",
	"source",
	"sql&sql=x",
];
const SCREENS = [
	{ name: "light", width: 1280, height: 800, scheme: "light", isKept: true },
	{ name: "dark", width: 1280, height: 800, scheme: "dark", isKept: true },
	{ name: "contrast", width: 1280, height: 800, scheme: "light", isKept: false },
	{ name: "small", width: 360, height: 740, scheme: "light", isKept: false },
	{ name: "large", width: 3840, height: 2160, scheme: "light", isKept: false },
] as const;
const MOST = 0.01; /* share of the picture that may differ */

const folder = process.env.PICTURES;
const only = process.env.ONLY?.split(",");
const reference = (name: string) => join(VIEWER_ROOT, "test/pictures/reference", `${name}.webp`);
const urlOf = (bytes: Buffer, type: string) => `data:image/${type};base64,${bytes.toString("base64")}`;

async function take(t: TestContext, view: string, screen: (typeof SCREENS)[number]): Promise<Buffer> {
	const { width, height, scheme, name } = screen;
	const { page } = await open(t, `view=${view}`, { viewport: { width, height }, colorScheme: scheme });

	if (name === "contrast") {
		await page.evaluate(() => localStorage.setItem("allo-theme", "contrast"));
		await page.reload();
		await page.getByTestId("details").waitFor();
	}
	await settle(page);
	return page.screenshot();
}

async function refresh(page: Page, name: string, picture: string): Promise<void> {
	const url = await halved(page, picture);

	mkdirSync(join(VIEWER_ROOT, "test/pictures/reference"), { recursive: true });
	writeFileSync(reference(name), Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
}

for (const screen of SCREENS)
	for (const view of VIEWS) {
		const name = `${view.replace(/[&=].*/, "")}-${screen.name}`;
		if (only && !only.some((word) => name.includes(word))) continue;
		if (!screen.isKept && !folder) continue;
		test(`${name} looks as before`, async (t) => {
			const picture = await take(t, view, screen);
			if (folder) writeFileSync(join(folder, `${name}.png`), picture);
			if (!screen.isKept) return;
			const { page } = await newPage(t);
			if (process.env.REFRESH) await refresh(page, name, urlOf(picture, "png"));
			assert.ok(existsSync(reference(name)), `there is a picture ${reference(name)}`);
			const share = await difference(
				page,
				urlOf(picture, "png"),
				urlOf(readFileSync(reference(name)), "webp"),
			);
			assert.ok(share <= MOST, `${(100 * share).toFixed(2)}% of the picture differ from ${reference(name)}`);
		});
	}

test("another view, theme or part is noticed", async (t) => {
	const { page } = await newPage(t);
	const url = (name: string) => urlOf(readFileSync(reference(name)), "webp");

	for (const [a, b] of [
		["flame-light", "tree-light"],
		["table-light", "table-dark"],
		["leaks-light", "blocks-light"],
		["sizes-dark", "lifetimes-dark"],
	] as const)
		assert.ok((await difference(page, url(a), url(b))) > MOST, `${a} and ${b}`);
	assert.equal(await difference(page, url("flame-dark"), url("flame-dark")), 0);
});
