/*
 * build.mjs - bundles the page into one file: dist/viewer.html, and dist/viewer.html.gz, which is committed.
 *
 * Equal sources give equal bytes.  The page's scripts and styles are inline; the Content-Security-Policy names their
 * hashes, so the browser runs nothing else.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = dirname(fileURLToPath(import.meta.url));

const MOST_GZIPPED = 120 * 1024;

const OPTIONS = {
	absWorkingDir: ROOT,
	bundle: true,
	minify: true,
	write: false,
	charset: "utf8",
	legalComments: "none",
	target: "es2022",
	logLevel: "warning",
};

async function bundle(entry, define = {}) {
	const { outputFiles } = await build({
		...OPTIONS,
		entryPoints: [entry],
		format: "iife",
		jsx: "automatic",
		jsxImportSource: "preact",
		define,
	});
	return outputFiles[0].text.trim();
}

/* "</script" in a string would end the element. */
const inScript = (code) => code.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/* `allo report` removes the last part, connect-src, from its pages. */
const policy = (scripts, style) =>
	[
		"default-src 'none'",
		`script-src ${scripts.map(hash).join(" ")} 'wasm-unsafe-eval'`,
		"worker-src blob:",
		`style-src ${hash(style)}`,
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		"connect-src 'self'",
	].join("; ");

export async function buildPage() {
	const worker = await bundle("src/worker_main.ts");
	const boot = inScript(await bundle("src/boot.ts"));
	const script = inScript(await bundle("src/main.tsx", { WORKER_SOURCE: JSON.stringify(worker) }));
	const { outputFiles } = await build({ ...OPTIONS, entryPoints: ["src/style.css"] });
	const style = outputFiles[0].text.trim();
	const parts = { CSP: policy([boot, script], style), STYLE: style, BOOT: boot, SCRIPT: script };
	const page = readFileSync(join(ROOT, "src/index.html"), "utf8");

	return page.replace(/@(CSP|STYLE|BOOT|SCRIPT)@/g, (_, name) => parts[name]);
}

/* The header has no time and a fixed system, so equal pages give equal bytes. */
export function packPage(html) {
	const packed = gzipSync(html, { level: 9 });

	packed[9] = 255;
	return packed;
}

async function main() {
	const html = await buildPage();
	const packed = packPage(html);

	if (packed.length > MOST_GZIPPED)
		throw new Error(`the page has ${packed.length} bytes, more than ${MOST_GZIPPED}`);
	mkdirSync(join(ROOT, "dist"), { recursive: true });
	writeFileSync(join(ROOT, "dist/viewer.html"), html);
	writeFileSync(join(ROOT, "dist/viewer.html.gz"), packed);
	console.log(`dist/viewer.html.gz: ${packed.length} bytes`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
