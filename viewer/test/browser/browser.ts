/* browser.ts - for browser tests: a server with the built page and an engine, and Chromium. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { Request } from "../../src/engine.ts";
import { FakeEngine } from "../fake_engine.ts";

declare const VIEWER_ROOT: string;

const TOKEN = "0123456789abcdef";

export const builtPage = (): string =>
	gunzipSync(readFileSync(join(VIEWER_ROOT, "dist/viewer.html.gz"))).toString("utf8");

export interface Answering {
	ask(request: Request): Uint8Array;
}

/* Serves the page and the engine, as `allo view` does. */
export async function serve(engine: Answering): Promise<{ server: Server; url: string }> {
	const html = builtPage();
	const server = createServer((request, response) => {
		if (request.method === "GET" && request.url === "/") {
			response.setHeader("Content-Type", "text/html; charset=utf-8");
			response.end(html);
			return;
		}
		if (request.url !== "/ask" || request.headers.authorization !== `Bearer ${TOKEN}`) {
			response.writeHead(request.url === "/ask" ? 401 : 404).end();
			return;
		}
		const parts: Buffer[] = [];
		request.on("data", (part) => parts.push(part));
		request.on("end", () => response.end(engine.ask(JSON.parse(Buffer.concat(parts).toString()))));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/#k=${TOKEN}` };
}

let browser: Browser | undefined;

const HANG = Number(process.env.HANG_MS ?? 600_000); // milliseconds: a loaded machine is slow

async function launch(): Promise<Browser> {
	browser ??= await chromium.launch({
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
		timeout: HANG,
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
	});
	return browser;
}

export const closeBrowser = async (): Promise<void> => browser?.close();

export interface Opened {
	page: Page;
	engine: FakeEngine;
	server: Server;
	complaints: string[];
}

/* A page that must not complain: no errors in the console, no dialogs, no requests elsewhere. */
export async function newPage(t: TestContext, options: BrowserContextOptions = {}) {
	const context = await (await launch()).newContext({
		viewport: { width: 1280, height: 800 },
		reducedMotion: "reduce",
		...options,
	});
	context.setDefaultTimeout(HANG);
	const page = await context.newPage();
	const complaints: string[] = [];

	page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
	page.on("pageerror", (error) => complaints.push(error.message));
	page.on("request", (request) => {
		if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:|file:)/.test(request.url())) complaints.push(request.url());
	});
	t.after(async () => {
		await context.close();
		assert.deepEqual(complaints, []);
	});
	return { page, complaints };
}

/* Opens the page on the fake engine; `state` is a fragment such as "view=flame". */
export async function open(
	t: TestContext,
	state = "",
	options: BrowserContextOptions = {},
	engine = new FakeEngine(),
): Promise<Opened> {
	const { server, url } = await serve(engine);
	const { page, complaints } = await newPage(t, options);

	t.after(() => {
		server.closeAllConnections();
		server.close();
	});
	await page.goto(state ? `${url}&${state}` : url);
	await page.getByTestId("details").waitFor();
	return { page, engine, server, complaints };
}

/* Waits until no view waits for a reply, and the frame is drawn. */
export async function settle(page: Page): Promise<void> {
	/* Not waitForFunction(): it evaluates a text, which the page's policy forbids. */
	await page.locator("[aria-busy=true], .skeleton").first().waitFor({ state: "detached" });
	await page.evaluate(
		() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
	);
}

const AXE = readFileSync(
	createRequire(join(VIEWER_ROOT, "package.json")).resolve("axe-core/axe.min.js"),
	"utf8",
);

interface Violation {
	id: string;
	impact: string;
	nodes: { html: string; failureSummary: string }[];
}

/* Serious problems that axe-core finds, as text, or "".  The page must be open with bypassCSP. */
export async function axeProblems(page: Page): Promise<string> {
	if (!(await page.evaluate(() => "axe" in window))) await page.addScriptTag({ content: AXE });
	const found = await page.evaluate(async () => {
		const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
		return (await axe.run()).violations;
	});

	return (found as Violation[])
		.filter(({ impact }) => impact === "serious" || impact === "critical")
		.flatMap(({ id, nodes }) =>
			nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
		)
		.join("\n");
}
