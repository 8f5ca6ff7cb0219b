/* main.tsx - finds an engine, opens the file and draws the page. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { acceptDrops } from "./drop.ts";
import { takeEngine, takeFiles, takeReplies } from "./embedded.ts";
import type { Engine } from "./engine.ts";
import { httpEngine } from "./engine_http.ts";
import { storedEngine } from "./engine_stored.ts";
import { workerEngine } from "./engine_worker.ts";
import { followGrowth } from "./live.ts";
import { takeReport } from "./report.ts";
import { asError, failure, files, listFiles, openedEngine, openFile, progress, session } from "./session.ts";
import { App } from "./shell/app.tsx";
import { handleKey } from "./shell/keys.ts";
import { go, hideToken, state } from "./state.ts";
import { readToken } from "./url.ts";

const TOKEN = "allo-token";

/* The token stays in the tab, so that a reload works without it in the URL. */
function takeToken(): string {
	const given = readToken(location.hash);

	if (given !== undefined) {
		sessionStorage.setItem(TOKEN, given);
		hideToken();
	}
	return given ?? sessionStorage.getItem(TOKEN) ?? "";
}

/* A report without recording has some windows only: a selection becomes the nearest one. */
async function findReplies(): Promise<Engine | undefined> {
	const bytes = await takeReplies();
	if (!bytes) return undefined;
	const engine = storedEngine(bytes);

	effect(() => {
		const { time, file } = state.value;
		const nearest = time && engine.nearest(file, time);
		if (nearest?.from !== time?.from || nearest?.to !== time?.to) go({ time: nearest }, { replace: true });
	});
	return engine;
}

/* A page with an engine inside is a report or a drop page; any other asks its server. */
async function findEngine(): Promise<Engine | undefined> {
	const wasm = takeEngine();
	await takeReport();
	if (!wasm) {
		const engine = (await findReplies()) ?? httpEngine(takeToken());
		acceptDrops(engine);
		return engine;
	}
	const files = takeFiles();
	const engine = await workerEngine(wasm, files);
	acceptDrops(engine);
	if (files.length > 0) return engine;
	progress.value = "";
	return undefined;
}

/* Who opens two files wants to compare them, unless the link says otherwise. */
function showComparison(): void {
	const comparison = files.peek().findIndex(({ isComparison }) => isComparison);

	if (comparison > 0 && !/[#&]file=/.test(location.hash)) go({ file: comparison }, { replace: true });
}

/* Another file of the same page is chosen in the URL. */
function followFile(): void {
	effect(() => {
		const { file } = state.value;
		const current = session.peek();
		if (current && current.file !== file) void openFile(openedEngine.peek()!, file);
	});
}

async function start(): Promise<void> {
	const app = document.getElementById("app")!;

	app.replaceChildren();
	render(<App />, app);
	addEventListener("keydown", handleKey);
	try {
		const engine = await findEngine();
		if (!engine) return;
		openedEngine.value = engine;
		await listFiles(engine);
		showComparison();
		await openFile(engine, state.peek().file);
		followFile();
		followGrowth();
	} catch (error) {
		failure.value = asError(error);
	}
}

void start();
