/* browser.mjs - shared by the browser tests: allo, a browser, and checks for requests and errors. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const ALLO = process.env.ALLO;
const GOLDEN = process.env.GOLDEN;

export const golden = (path) => join(GOLDEN, path);

export function allo(...words) {
	return execFileSync(ALLO, words, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
}

export const alloJson = (...words) => JSON.parse(allo(...words, "--json"));

/* A folder that is gone when the test is over. */
export function folder(t) {
	const path = mkdtempSync(join(tmpdir(), "allo-browser-"));

	t.after(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

export function file(t, name, content) {
	const path = join(folder(t), name);

	writeFileSync(path, content);
	return path;
}

let browser;

const HANG = 600_000; // milliseconds: a loaded machine is slow

/* Opens a file.  The page must not complain, open dialogs or ask for anything but local files. */
export async function open(t, path, options = {}) {
	browser ||= await chromium.launch({
		executablePath: process.env.CHROMIUM,
		timeout: HANG,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync"],
	});
	const context = await browser.newContext({
		viewport: { width: 1200, height: 800 }, reducedMotion: "reduce", ...options,
	});
	context.setDefaultTimeout(HANG);
	const page = await context.newPage();
	const complaints = [];

	page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
	page.on("pageerror", (error) => complaints.push(error.message));
	page.on("dialog", (dialog) => complaints.push(dialog.message()) && dialog.dismiss());
	page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || complaints.push(request.url()));
	t.after(async () => {
		await context.close();
		assert.deepEqual(complaints, []);
	});
	await page.goto("file://" + path);
	return page;
}

export const closeBrowser = () => browser?.close();
