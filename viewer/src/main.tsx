/* main.tsx - finds an engine, opens the file and draws the page. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { acceptDrops } from "./drop.ts";
import { takeEngine, takeFiles } from "./embedded.ts";
import type { Engine } from "./engine.ts";
import { httpEngine } from "./engine_http.ts";
import { workerEngine } from "./engine_worker.ts";
import { followGrowth } from "./live.ts";
import { asError, failure, files, listFiles, openFile, progress, session } from "./session.ts";
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

/* A page with an engine inside is a report or a drop page; any other asks its server. */
async function findEngine(): Promise<Engine | undefined> {
	const wasm = takeEngine();
	if (!wasm) return httpEngine(takeToken());
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
function followFile(engine: Engine): void {
	effect(() => {
		const { file } = state.value;
		if (session.peek()?.file !== file) void openFile(engine, file);
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
		await listFiles(engine);
		showComparison();
		await openFile(engine, state.peek().file);
		followFile(engine);
		followGrowth();
	} catch (error) {
		failure.value = asError(error);
	}
}

void start();
