/*
 * run.mjs - bundles the tests and runs them with node.
 *
 *     node test/run.mjs            unit tests
 *     node test/run.mjs browser    tests in Chromium
 *     ALLO=PROGRAM GOLDEN=FOLDER node test/run.mjs real       tests with the real engine
 *     ALLO=PROGRAM GOLDEN=FOLDER node test/run.mjs firefox    the same in Firefox
 *     node test/run.mjs pictures    every view looks as in its reference picture (test_pictures.ts)
 *
 * CHROMIUM names another browser than /usr/bin/chromium-headless-shell, FIREFOX another one than firefox-esr.
 * HANG_MS is the longest wait of a browser test in milliseconds (default: ten minutes, for loaded machines).
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = {
	unit: "test",
	browser: "test/browser",
	pictures: "test/pictures",
	real: "test/real",
	firefox: "test/firefox",
};

const [kind = "unit", ...words] = process.argv.slice(2);
const folder = FOLDERS[kind];
const entries = readdirSync(join(ROOT, folder))
	.filter(
		(name) =>
			/^test_.*\.tsx?$/.test(name) && (words.length === 0 || words.some((word) => name.includes(word))),
	)
	.map((name) => join(ROOT, folder, name));

if (entries.length === 0) throw new Error(`no tests in ${folder} match ${words.join(" ")}`);

/* Beside node_modules, which the bundles import at run time. */
const out = mkdtempSync(join(ROOT, ".test-"));
try {
	await build({
		entryPoints: entries,
		outdir: out,
		outExtension: { ".js": ".mjs" },
		bundle: true,
		format: "esm",
		platform: "node",
		target: "node18",
		packages: "external",
		jsx: "automatic",
		jsxImportSource: "preact",
		define: { VIEWER_ROOT: JSON.stringify(ROOT), WORKER_SOURCE: '""' },
		logLevel: "warning",
	});
	const files = readdirSync(out)
		.filter((name) => name.startsWith("test_"))
		.map((name) => join(out, name));
	const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...files], {
		stdio: "inherit",
	});
	process.exitCode = status ?? 1;
} finally {
	rmSync(out, { recursive: true, force: true });
}
