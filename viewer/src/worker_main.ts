/* worker_main.ts - the worker: owns the engine's memory, unpacks files and zstd frames for it, passes requests on. */
import type { WorkerAnswer, WorkerCall } from "./engine_worker.ts";
import { gunzip } from "./gunzip.ts";
import { unpackFile, unpackFrame } from "./unpack.ts";

/* Functions of the engine (src/wasm/exports.h).  Results point to two words: the place and the length of a reply. */
interface Exports {
	memory: WebAssembly.Memory;
	_initialize(): void;
	allo_engine_alloc(size: number): number;
	allo_engine_free(at: number): void;
	allo_engine_open(name: number, data: number, length: number): number;
	allo_engine_ask(request: number, length: number): number;
}

let module: WebAssembly.Module | undefined;
let engine: Exports | undefined;

const bytesAt = (at: number, length: number) => new Uint8Array(engine!.memory.buffer, at >>> 0, length);

/* fzstd writes into a buffer of its own: writing into the engine's memory directly takes more than twice as long. */
function unpackZstd(frame: number, length: number, out: number, size: number): number {
	const unpacked = unpackFrame(bytesAt(frame, length).slice(), size >>> 0);

	if (unpacked) bytesAt(out, unpacked.length).set(unpacked);
	return unpacked ? 1 : 0;
}

const IMPORTS = {
	allo: { random: () => crypto.getRandomValues(new BigUint64Array(1))[0]!, unpack_zstd: unpackZstd },
};

/* A new engine: the only way to give memory back. */
async function restart(): Promise<void> {
	const instance = await WebAssembly.instantiate(module!, IMPORTS);

	engine = instance.exports as unknown as Exports;
	engine._initialize();
}

/* Copies bytes into the engine's memory. */
function give(bytes: Uint8Array): number {
	const at = engine!.allo_engine_alloc(bytes.length || 1) >>> 0;

	if (at === 0) throw new Error("out of memory");
	bytesAt(at, bytes.length).set(bytes);
	return at;
}

function takeReply(result: number): ArrayBuffer {
	const [at, length] = new Uint32Array(engine!.memory.buffer, result >>> 0, 2);

	return bytesAt(at!, length!).slice().buffer;
}

/* The engine keeps the bytes of the file: it answers from them. */
async function open(name: string, bytes: Uint8Array<ArrayBuffer>, isFirst: boolean): Promise<ArrayBuffer> {
	if (isFirst) await restart();
	const nameAt = give(new TextEncoder().encode(`${name}\0`));
	const reply = takeReply(engine!.allo_engine_open(nameAt, give(bytes), bytes.length));

	engine!.allo_engine_free(nameAt);
	return reply;
}

function ask(request: string): ArrayBuffer {
	const bytes = new TextEncoder().encode(request);
	const at = give(bytes);
	const reply = takeReply(engine!.allo_engine_ask(at, bytes.length));

	engine!.allo_engine_free(at);
	return reply;
}

async function answer(call: WorkerCall): Promise<ArrayBuffer | undefined> {
	if (call.kind === "ask") return ask(call.request);
	const bytes = new Uint8Array(call.bytes);
	if (call.kind === "start") {
		module = await WebAssembly.compile(await unpackFile(bytes));
		return undefined;
	}
	/* Reports hold files as gzip; the file inside may be compressed as well. */
	const file = call.isPacked ? await gunzip(bytes) : bytes;
	return await open(call.name, await unpackFile(file), call.isFirst);
}

/* One call after another, in the order of arrival. */
let queue: Promise<void> = Promise.resolve();

addEventListener("message", ({ data }: MessageEvent<WorkerCall>) => {
	queue = queue.then(async () => {
		const reply: WorkerAnswer = { id: data.id };
		try {
			reply.bytes = await answer(data);
		} catch (error) {
			reply.error = String((error as Error)?.message ?? error);
		}
		postMessage(reply, { transfer: reply.bytes ? [reply.bytes] : [] });
	});
});
