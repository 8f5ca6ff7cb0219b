/* engine_worker.ts - carries requests to a web worker that runs the engine as WebAssembly. */
import type { EmbeddedFile } from "./embedded.ts";
import type { Engine, Request } from "./engine.ts";
import { AskError, Reply } from "./reply.ts";

/* Set by build.mjs: the bundled source of worker_main.ts. */
declare const WORKER_SOURCE: string;

/* Messages of the page, and answers with the same id. */
export type WorkerCall =
	| { id: number; kind: "start"; bytes: ArrayBuffer }
	| { id: number; kind: "open"; name: string; bytes: ArrayBuffer; isPacked: boolean; isFirst: boolean }
	| { id: number; kind: "ask"; request: string };

export interface WorkerAnswer {
	id: number;
	bytes?: ArrayBuffer;
	error?: string;
}

type Question = WorkerCall extends infer Call ? (Call extends unknown ? Omit<Call, "id"> : never) : never;

class Carrier {
	private readonly pending = new Map<number, (answer: WorkerAnswer) => void>();
	private last = 0;

	constructor(private readonly worker: Worker) {
		worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => this.settle(data);
		worker.onerror = (event) => {
			for (const id of [...this.pending.keys()]) this.settle({ id, error: event.message });
		};
	}

	private settle(answer: WorkerAnswer): void {
		this.pending.get(answer.id)?.(answer);
		this.pending.delete(answer.id);
	}

	async call(question: Question, transfer: ArrayBuffer[] = []): Promise<ArrayBuffer> {
		const id = ++this.last;
		const answer = await new Promise<WorkerAnswer>((resolve) => {
			this.pending.set(id, resolve);
			this.worker.postMessage({ ...question, id }, transfer);
		});

		if (answer.error !== undefined)
			throw new AskError("internal", `The engine stopped: ${answer.error}`, "Reload the page.");
		return answer.bytes ?? new ArrayBuffer(0);
	}
}

/* An `open` that fails answers with a reply that holds the error. */
function check(reply: ArrayBuffer): void {
	if (reply.byteLength > 0) Reply.decode(reply);
}

export async function workerEngine(wasm: Uint8Array<ArrayBuffer>, files: EmbeddedFile[]): Promise<Engine> {
	const url = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
	const carrier = new Carrier(new Worker(url));
	const open = async (name: string, bytes: ArrayBuffer, isPacked: boolean, isFirst: boolean) =>
		check(await carrier.call({ kind: "open", name, bytes, isPacked, isFirst }, [bytes]));

	await carrier.call({ kind: "start", bytes: wasm.buffer }, [wasm.buffer]);
	URL.revokeObjectURL(url);
	for (const [i, { name, packed }] of files.entries()) await open(name, packed.buffer, true, i === 0);
	const engine: Engine = {
		isServer: false,
		async ask<Head>(request: Request): Promise<Reply<Head>> {
			return Reply.decode<Head>(
				await carrier.call({ kind: "ask", request: JSON.stringify({ v: 1, ...request }) }),
			);
		},
		async openFile(name, bytes) {
			await open(name, bytes, false, true);
			return engine;
		},
	};
	return engine;
}
