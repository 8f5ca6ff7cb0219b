/* engine_http.ts - carries requests to the native engine of `allo view`. */
import type { Engine, Request } from "./engine.ts";
import { workerEngine } from "./engine_worker.ts";
import { AskError, Reply } from "./reply.ts";

const GONE = "The server of this page does not answer.";

async function post(body: string, token: string): Promise<Response> {
	try {
		/* The address may name one of several processes. */
		return await fetch(`ask${location.search}`, {
			method: "POST",
			headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
			body,
			cache: "no-store",
		});
	} catch {
		throw new AskError("gone", GONE, "Start 'allo view' again and open the address that it prints.");
	}
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const BUSY = 429;

/* A server that follows processes answers one request after another. */
async function postUntilHeard(body: string, token: string): Promise<Response> {
	for (let wait = 100; ; wait = Math.min(2 * wait, 2000)) {
		const response = await post(body, token);
		if (response.status !== BUSY) return response;
		await pause(wait);
	}
}

/* The engine that `allo` carries reads dropped files: they do not leave the browser. */
async function fetchEngine(): Promise<Engine> {
	const response = await fetch("engine").catch(() => undefined);

	if (!response) throw new AskError("gone", GONE);
	if (!response.ok) throw new AskError("usage", (await response.text()).trim(), "Run: allo view FILE");
	return workerEngine(new Uint8Array(await response.arrayBuffer()), []);
}

export function httpEngine(token: string): Engine {
	return {
		isServer: true,
		async ask<Head>(request: Request): Promise<Reply<Head>> {
			const response = await postUntilHeard(JSON.stringify({ v: 1, ...request }), token);
			if (response.status === 401 || response.status === 403)
				throw new AskError(
					"access",
					"The server refuses this page.",
					"Open the address that 'allo view' prints.",
				);
			if (!response.ok) throw new AskError("io", (await response.text()).trim());
			return Reply.decode<Head>(await response.arrayBuffer());
		},
		async openFile(name, bytes) {
			const engine = await fetchEngine();
			return engine.openFile!(name, bytes);
		},
	};
}
