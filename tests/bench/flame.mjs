/*
 * flame.mjs - times the flame graph of the page in Chromium.  Prints JSON: milliseconds of script.
 *
 * A synthetic tree of about 2 million nodes is laid out, then drawn with another root each time, as zooming in and out does.
 * It runs in a copy of viewer/.
 */
import { chromium } from "playwright-core";
import { build } from "esbuild";

const WHOLE = 5_000_000; /* value of the root: gives 2 million nodes */
const ROUNDS = 5; /* of each picture; the best counts */

const PAGE = `
import { childrenOf, layoutTree } from "./src/flame/layout.ts";
import { FlamePainter } from "./src/flame/painter.ts";
import { PALETTES, shadesOf } from "./src/palette.ts";

/* Chains of four calls with four callees, until little of the value is left. */
function columns(whole) {
	const count = 4_000_000;
	const [call, line, depth, left_out] = [0, 1, 2, 3].map(() => new Uint32Array(count));
	const [self, total, left_out_value] = [0, 1, 2].map(() => new Float64Array(count));
	const open = [[0, whole, 3]];
	let at = 0;
	while (open.length > 0) {
		const [level, value, chain] = open.pop();
		call[at] = at === 0 ? 0 : 1 + ((at * 2654435761) >>> 0) % 40000;
		depth[at] = level;
		total[at] = value;
		self[at] = value < 8 ? value : chain > 0 ? 0 : value * 0.06;
		at++;
		if (value < 8) continue;
		if (chain > 0) open.push([level + 1, value, chain - 1]);
		else for (const share of [0.2, 0.22, 0.25, 0.27]) open.push([level + 1, value * share, 3]);
	}
	const all = { call, line, depth, left_out, self, total, left_out_value };
	for (const name in all) all[name] = all[name].subarray(0, at);
	return all;
}

window.measure = (whole, rounds) => {
	const all = columns(whole);
	const get = (name) => all[name];
	const begin = performance.now();
	const tree = layoutTree({ u32: get, f64: get, has: () => false });
	const layout = performance.now() - begin;
	const canvas = Object.assign(document.createElement("canvas"), { width: 1600, height: 900 });
	document.body.append(canvas);
	const painter = new FlamePainter(canvas.getContext("2d", { alpha: false }));
	const palette = PALETTES.light;
	const index = Uint8Array.from(tree.call, (call) => call % 27);
	const way = [0]; /* from the root to a leaf */
	for (let node = 0; childrenOf(tree, node).length > 0; way.push(node)) node = childrenOf(tree, node).at(way.length % 2 ? -1 : 0);
	const times = [];
	let boxes = 0;
	const paint = (root) => painter.paint({
		tree, root, ancestors: [], palette,
		colouring: { title: "", colours: palette.modules.flatMap(shadesOf), index, legend: [] },
		width: 1600, height: 900, scroll: 0, content: 1440, isUpward: false,
		hovered: undefined, cursor: undefined, matches: undefined,
		nameOf: (node) => "function_" + tree.call[Math.max(0, node)],
		ancestorName: () => "", noteOf: () => "12.3 MiB 45.6%",
	}, 1);
	for (const root of way) {
		const tries = Array.from({ length: rounds }, () => {
			const start = performance.now();
			paint(root);
			return performance.now() - start;
		});
		times.push(Math.min(...tries));
		boxes = Math.max(boxes, painter.boxes.count);
	}
	times.sort((a, b) => a - b);
	return { nodes: tree.count, layout_ms: layout, boxes, median_ms: times[times.length >> 1], worst_ms: times.at(-1) };
};
`;

const { outputFiles } = await build({
	stdin: { contents: PAGE, resolveDir: ".", loader: "js" },
	bundle: true,
	format: "iife",
	minify: true,
	write: false,
	jsx: "automatic",
	jsxImportSource: "preact",
});
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
	args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
const page = await browser.newPage();
page.setDefaultTimeout(600_000);
await page.setContent("<body>");
await page.addScriptTag({ content: outputFiles[0].text });
const figures = await page.evaluate(([whole, rounds]) => window.measure(whole, rounds), [WHOLE, ROUNDS]);
await browser.close();
console.log(JSON.stringify(figures));
