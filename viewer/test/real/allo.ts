/* allo.ts - the program: ALLO; sample files are in GOLDEN. */
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import type { TestContext } from "node:test";

export const ALLO = process.env.ALLO ?? "allo";
const GOLDEN = process.env.GOLDEN ?? "../tests/golden";

export const golden = (path: string) => join(GOLDEN, path);

export const allo = (...words: string[]): string =>
	execFileSync(ALLO, words, { encoding: "utf8", maxBuffer: 1 << 28 });

interface TopRow {
	short?: string;
	name: string;
	self: number;
	total: number;
}

interface Top {
	metric: { name: string; unit: string };
	sum: number;
	row_count: number;
	rows: TopRow[];
}

export const top = (file: string, ...words: string[]): Top =>
	JSON.parse(allo("top", "--json", "-n", "0", ...words, file));

/* Starts `allo view`.  Returns the address of its page. */
export const startView = (t: TestContext, ...files: string[]): Promise<string> =>
	startServing(t, "view", "--no-open", "--listen", "127.0.0.1:0", ...files);

/* Starts `allo serve` for a process.  Returns the address of its page. */
export const startServer = (t: TestContext, pid: string): Promise<string> =>
	startServing(t, "serve", "--listen", "127.0.0.1:0", pid);

function startServing(t: TestContext, ...words: string[]): Promise<string> {
	const server = spawn(ALLO, words);

	t.after(() => void server.kill());
	return new Promise((resolve, reject) => {
		let said = "";
		const listen = (data: Buffer) => {
			said += data;
			const found = /http:\/\/\S+\/view#\S+(?=\s)/.exec(said); // the whole line
			if (found) resolve(found[0]);
		};
		server.stdout.on("data", listen);
		server.stderr.on("data", listen);
		server.on("exit", () => reject(new Error(`allo ${words[0]} ended: ${said}`)));
	});
}
