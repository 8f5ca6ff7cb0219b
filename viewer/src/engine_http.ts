/* engine_http.ts - carries requests to the native engine of `allo view`. */
import type { Engine, Request } from "./engine.ts";
import { AskError, Reply } from "./reply.ts";

const GONE = "The server of this page does not answer.";

async function post(body: string, token: string): Promise<Response> {
	try {
		return await fetch("ask", {
			method: "POST",
			headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
			body,
			cache: "no-store",
		});
	} catch {
		throw new AskError("gone", GONE, "Start 'allo view' again and open the address that it prints.");
	}
}

export function httpEngine(token: string): Engine {
	return {
		isServer: true,
		async ask<Head>(request: Request): Promise<Reply<Head>> {
			const response = await post(JSON.stringify({ v: 1, ...request }), token);
			const bytes = await response.arrayBuffer();
			if (response.status === 401 || response.status === 403)
				throw new AskError(
					"access",
					"The server refuses this page.",
					"Open the address that 'allo view' prints.",
				);
			return Reply.decode<Head>(bytes);
		},
	};
}
