/* session.ts - the opened file: engine, description, names, and the state of the connection. */
import { computed, signal } from "@preact/signals";
import type { Engine, Metric, OpenHead, Request } from "./engine.ts";
import { Names } from "./names.ts";
import { AskError, type Reply } from "./reply.ts";
import { go, state } from "./state.ts";

export interface Session {
	engine: Engine;
	file: number;
	open: OpenHead;
	names: Names;
}

export const session = signal<Session | undefined>(undefined);

/* It changes when a file is dropped onto the page of a server. */
export const openedEngine = signal<Engine | undefined>(undefined);

/* The reason why there is no session. */
export const failure = signal<AskError | undefined>(undefined);

/* Asks that the engine does not know: `allo serve` has neither SQL nor source files. */
export const unknownAsks = signal<readonly string[]>([]);

/* Lost connection: views keep their last data. */
export const isGone = signal(false);

/* Increases when replies are outdated: the recording grew, or the user retries. */
export const epoch = signal(0);

/* What the page is waiting for before a session exists; "" for a drop page. */
export const progress = signal("Loading");

export const asError = (error: unknown): AskError =>
	error instanceof AskError ? error : new AskError("internal", String((error as Error)?.message ?? error));

const MOST_CACHED = 24 * 1024 * 1024;

/* Every tree of all samples has their sums, and the root as node 0. */
const hasSums = ({ ask, root, pivot }: Request): boolean =>
	ask === "tree" && root === undefined && pivot === undefined;

const sumRequest = ({ invert, grain, age, ...others }: Request): Request => ({ ...others, least: 1 });

/* Replies by request, the oldest first, so that Back needs no engine. */
class Cache {
	private readonly replies = new Map<string, Reply<unknown>>();
	private readonly sums = new Map<string, string>(); /* requests for sums, and for the tree that has them */
	private size = 0;

	get(key: string): Reply<unknown> | undefined {
		return this.replies.get(key) ?? this.replies.get(this.sums.get(key) ?? "");
	}

	set(request: Request, reply: Reply<unknown>): void {
		const key = JSON.stringify(request);

		this.replies.set(key, reply);
		if (hasSums(request)) this.sums.set(JSON.stringify(sumRequest(request)), key);
		this.size += reply.size;
		for (const [oldest, { size }] of this.replies) {
			if (this.size <= MOST_CACHED) break;
			this.replies.delete(oldest);
			this.size -= size;
		}
		for (const [sum, tree] of this.sums) {
			if (this.replies.has(tree)) break;
			this.sums.delete(sum);
		}
	}

	clear(): void {
		this.replies.clear();
		this.sums.clear();
		this.size = 0;
	}
}

const cache = new Cache();

/* The requests on screen, by key: those since the replies were forgotten. */
const onScreen = new Map<string, Request>();

export const cached = (request: Request): Reply<unknown> | undefined => cache.get(JSON.stringify(request));

const RETRY = 2000; /* ms */

let retry: ReturnType<typeof setTimeout> | undefined;

/* Views ask again by themselves: a server that was only busy is no reason to click. */
function retryLater(): void {
	isGone.value = true;
	if (retry !== undefined) return;
	retry = setTimeout(() => {
		retry = undefined;
		epoch.value++;
	}, RETRY);
}

/* Asks the session's engine; notices when the server is gone. */
export async function ask<Head>(request: Request): Promise<Reply<Head>> {
	const engine = session.peek()?.engine;
	const key = JSON.stringify(request);
	const known = cache.get(key);

	if (request.ask !== "live") onScreen.set(key, request);
	if (known) return known as Reply<Head>;
	if (!engine) throw new AskError("usage", "No file is open.");
	try {
		const reply = await engine.ask<Head>(request);
		isGone.value = false;
		if (request.ask !== "live") cache.set(request, reply);
		return reply;
	} catch (error) {
		if (error instanceof AskError && error.code === "gone") retryLater();
		if (error instanceof AskError && error.message.startsWith(`there is no ask '${request.ask}'`))
			unknownAsks.value = [...unknownAsks.peek(), request.ask];
		throw error;
	}
}

export function forgetReplies(): void {
	cache.clear();
	onScreen.clear();
	epoch.value++;
}

export async function openFile(engine: Engine, file: number): Promise<void> {
	try {
		const { head } = await engine.ask<OpenHead>({ ask: "open", file });
		session.value = { engine, file, open: head, names: new Names(engine, file) };
		failure.value = undefined;
		forgetReplies();
	} catch (error) {
		failure.value = asError(error);
	}
}

export interface FileEntry {
	name: string;
	isComparison: boolean;
}

/* The opened files; after two files, the server offers their comparison. */
export const files = signal<FileEntry[]>([]);

const MOST_FILES = 32;

/* Asks for one file after another, until there is none. */
export async function listFiles(engine: Engine): Promise<void> {
	const found: FileEntry[] = [];

	try {
		while (found.length < MOST_FILES) {
			const { head } = await engine.ask<OpenHead>({ ask: "open", file: found.length });
			const name = head.file.name.slice(head.file.name.lastIndexOf("/") + 1);
			const isComparison = head.has.comparison === true && found.length > 0;
			found.push({ name: isComparison ? `${found[0]!.name} against ${found[1]?.name}` : name, isComparison });
		}
	} catch {
		/* The engine names the first file that does not exist. */
	}
	files.value = found;
}

/* A growing recording: the description changes, calls keep their numbers.  Filters may have added others behind them,
 * so names are asked for again if there are more calls.  All replies on screen are there before one of them is shown, so
 * that the page never shows two states. */
export async function refresh(): Promise<void> {
	const known = session.peek();
	if (!known) return;
	const { engine, file, open } = known;
	const { head } = await engine.ask<OpenHead>({ ask: "open", file });
	const requests = [...onScreen.values()].map((request) =>
		request.to === open.duration_ns ? { ...request, to: head.duration_ns } : request,
	);
	/* A view asks again for a reply that failed here. */
	const replies = await Promise.all(requests.map((request) => engine.ask(request).catch(() => undefined)));
	const names = head.calls === open.calls ? known.names : new Names(engine, file);
	session.value = { ...known, open: head, names };
	cache.clear();
	onScreen.clear();
	requests.forEach((request, i) => {
		if (replies[i]) cache.set(request, replies[i]);
	});
	epoch.value++;
}

export const metric = computed<Metric>(() => {
	const metrics = session.value?.open.metrics ?? [];
	const wanted = state.value.metric || "peak_bytes";
	return (
		metrics.find(({ name }) => name === wanted) ??
		metrics[0] ?? { name: "", title: "Value", unit: "count", additive: true }
	);
});

/* The part of every request that all views share: file, time, metric, filters and base. */
export function globalRequest(name: string, members: Record<string, unknown> = {}): Request {
	const { file, time, filters, base } = state.value;

	return {
		ask: name,
		file,
		...(time ?? {}),
		metric: metric.value.name,
		filters,
		...(base ? { base } : {}),
		...members,
	};
}

/* Replies have the values of a base. */
export const hasBefore = computed(
	() => state.value.base !== undefined || session.value?.open.has.comparison === true,
);

/* Whether the average age of blocks is known, and its unit. */
export const ageUnit = (): string | undefined => {
	const metrics = session.value?.open.metrics ?? [];
	const unit = metrics.find(({ name }) => name === "lifetime")?.unit;

	return metrics.some(({ name }) => name === "alloc_blocks") ? unit : undefined;
};

/* The file name of a module; modules have numbers from 1, and 0 is unknown. */
export const moduleName = (module: number): string => {
	const path = session.value?.open.modules[module - 1]?.path ?? "";
	return path.slice(path.lastIndexOf("/") + 1);
};

/* Selects metrics one after another. */
export function stepMetric(step: number): void {
	const metrics = session.peek()?.open.metrics ?? [];
	const at = metrics.findIndex(({ name }) => name === metric.peek().name);
	const next = metrics[(at + step + metrics.length) % metrics.length];

	if (next) go({ metric: next.name });
}
