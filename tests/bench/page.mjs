/*
 * page.mjs - times pages in Chromium.  Prints JSON: seconds from the command to the data on screen.
 *
 * usage: page.mjs ALLO view FILE          'allo view FILE', from its start
 *        page.mjs ALLO report FILE        a report that is opened from a file
 *        page.mjs ALLO brush FILE         ranges of a report: from the change of the range until the flame graph is drawn
 *        page.mjs ALLO speedscope FILE    speedscope, from the moment at which it gets the file
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { chromium } from "playwright-core";

const [, , allo, kind, path] = process.argv;
const PATIENCE = 600_000; // milliseconds

const now = () => performance.now() / 1000;

/* Starts the server of a file; the address of its page. */
function serve() {
	const server = spawn(allo, ["view", "--no-open", "--listen", "127.0.0.1:0", path]);
	const url = new Promise((resolve) => {
		let said = "";
		const listen = (data) => {
			said += data;
			const found = /http:\/\/\S+(?=\s)/.exec(said);
			if (found) resolve(found[0]);
		};
		server.stdout.on("data", listen);
		server.stderr.on("data", listen);
	});
	return { url, end: () => server.kill() };
}

/* The figures and the lists of the first view are on screen. */
const painted = (page) => page.waitForSelector('[data-testid="overview"] .holders li');

const WAYS = {
	async view(page) {
		const begin = now();
		const { url, end } = serve();
		await page.goto(await url);
		await painted(page);
		end();
		return now() - begin;
	},
	async report(page) {
		const begin = now();
		await page.goto(`file://${path}`);
		await painted(page);
		return now() - begin;
	},
	/* Frames are drawn at once: the display's clock would hide what is faster than it. */
	async brush(page) {
		await page.addInitScript(() => {
			const waiting = new Map();
			const { port1, port2 } = new MessageChannel();
			let last = 0;
			port1.onmessage = ({ data }) => {
				const draw = waiting.get(data);
				waiting.delete(data);
				draw?.(performance.now());
			};
			window.requestAnimationFrame = (draw) => {
				waiting.set(++last, draw);
				port2.postMessage(last);
				return last;
			};
			window.cancelAnimationFrame = (number) => waiting.delete(number);
		});
		await page.goto(`file://${path}#v=1&view=flame`);
		await page.waitForSelector('[data-testid="flame"]');
		return page.evaluate(async (count) => {
			const length = Number(document.querySelector('[data-testid="handle-to"]').getAttribute("aria-valuemax"));
			const written = (ns) => `${Math.floor(ns / 1e9)}.${String(Math.round(ns % 1e9)).padStart(9, "0")}s`;
			const channel = new MessageChannel(); /* timers wait for 4 ms */
			const turn = () =>
				new Promise((resolve) => {
					channel.port1.onmessage = resolve;
					channel.port2.postMessage(0);
				});
			const isBusy = () => document.querySelector("main [aria-busy=true]") !== null;
			let changes = 0; /* of a view that asks, or has its reply */
			new MutationObserver((records) => {
				changes += records.length;
			}).observe(document.querySelector("main"), { subtree: true, attributeFilter: ["aria-busy"] });
			const times = [];
			for (let i = 0; i < count; i++) {
				const part = length * 0.001 * 300 ** (((i * 37) % count) / count);
				const from = ((length - part) * i) / count;
				const start = performance.now();
				location.hash = `#v=1&view=flame&t=${written(from)}..${written(from + part)}`;
				const before = changes;
				while (isBusy() || changes < before + 2) await turn();
				await new Promise((resolve) => requestAnimationFrame(resolve)); /* after the drawing, which was asked for before */
				times.push(performance.now() - start);
			}
			times.sort((a, b) => a - b);
			return {
				median_ms: times[count / 2],
				p95_ms: times[Math.floor(count * 0.95)],
				heap_mb: performance.memory.usedJSHeapSize / 1e6,
			};
		}, 80);
	},
	async speedscope(page) {
		const app = join(dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release/index.html");
		const folder = mkdtempSync(join(tmpdir(), "allo-speedscope-"));
		const content = readFileSync(path).toString("base64");
		writeFileSync(join(folder, "load.js"),
			`speedscope.loadFileFromBase64(${JSON.stringify(basename(path))}, ${JSON.stringify(content)})`);
		const begin = now();
		await page.goto(`file://${app}#localProfilePath=${join(folder, "load.js")}`);
		await page.getByText("Left Heavy").waitFor();
		const seconds = now() - begin;
		rmSync(folder, { recursive: true });
		return seconds;
	},
};

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
	args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
await page.goto("about:blank");
const figures = await WAYS[kind](page);
await browser.close();
console.log(JSON.stringify(typeof figures === "number" ? { seconds: figures } : figures));
