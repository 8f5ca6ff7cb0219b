/* test_pictures.ts - takes pictures of every view, to look at.  ONLY=flame,dark restricts them. */
import { join } from "node:path";
import test, { after } from "node:test";
import { closeBrowser, open, settle } from "../browser/browser.ts";

after(closeBrowser);

const FOLDER = process.env.PICTURES ?? ".";
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
	{ name: "light", width: 1280, height: 800, scheme: "light" },
	{ name: "dark", width: 1280, height: 800, scheme: "dark" },
	{ name: "small", width: 360, height: 740, scheme: "light" },
] as const;
const only = process.env.ONLY?.split(",");

for (const { name, width, height, scheme } of SCREENS)
	for (const view of VIEWS)
		if (!only || only.some((word) => `${view} ${name}`.includes(word)))
			test(`${view} ${name}`, async (t) => {
				const { page } = await open(t, `view=${view}`, { viewport: { width, height }, colorScheme: scheme });
				await settle(page);
				await page.screenshot({ path: join(FOLDER, `${view.replace(/[&=].*/, "")}-${name}.png`) });
			});
