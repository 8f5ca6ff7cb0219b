/* fake_data.ts - a small program's blocks, the same in every run: a leak, a spike, churn, and two threads. */

export interface Call {
	name: string;
	full: string;
	file: string;
	line: number;
	module: number; // from 1
	kind: number;
}

export interface Block {
	stack: number;
	size: number;
	alloc: number; // ns
	free: number; // -1: never
	thread: number; // index
	freer: number; // index, -1: none
}

export const DURATION = 8_000_000_000;

export const MODULES = [
	{ path: "/home/user/server", own: true },
	{ path: "/usr/lib/libjson.so.2", own: false },
	{ path: "/usr/lib/libstdc++.so.6", own: false },
	{ path: "/usr/lib/libc.so.6", own: false },
];

export const THREADS = [
	{ id: 4711, name: "server" },
	{ id: 4712, name: "worker-1" },
	{ id: 4713, name: "worker-2" },
	{ id: 4714, name: "logger" },
];

const call = (name: string, file: string, line: number, module = 1, kind = 0, full = name): Call => ({
	name,
	full,
	file: file && `/home/user/src/${file}`,
	line,
	module,
	kind,
});

/* Call n is at n - 1. */
export const CALLS: Call[] = [
	call("main", "main.cpp", 20),
	call("Server::run", "server.cpp", 88),
	call("Connection::read", "connection.cpp", 41),
	call("http::parse_request", "http/parse.cpp", 112),
	call("http::parse_body", "http/parse.cpp", 201, 1, 0, "http::parse_body(std::string_view, http::Request&)"),
	call("json::parse", "", 0, 2, 1),
	call("json::Value::push_back", "", 0, 2, 1, "json::Value::push_back(json::Value&&)"),
	call(
		"std::vector<\u2026>::_M_realloc_insert",
		"",
		0,
		3,
		2,
		"std::vector<json::Value, std::allocator<json::Value> >::_M_realloc_insert<json::Value>(json::Value&&)",
	),
	call("Cache::insert", "cache.cpp", 64),
	call("Cache::grow", "cache.cpp", 97),
	call("Session::create", "session.cpp", 15),
	call("Logger::format", "logger.cpp", 33),
	call(
		"std::string::_M_create",
		"",
		0,
		3,
		2,
		"std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
	),
	call("worker_loop", "worker.cpp", 12),
	call("compress_block", "compress.cpp", 140),
	call("Image::decode", "image.cpp", 75),
	call("load_config", "config.cpp", 9),
	call("strdup", "", 0, 4, 1),
	call("render_template", "template.cpp", 55),
	call("Template::expand", "template.cpp", 120),
];

const id = (name: string) => CALLS.findIndex((each) => each.name === name) + 1;

/* Outermost first. */
export const STACKS: number[][] = [
	["main", "load_config", "strdup"],
	["main", "Server::run", "Session::create"],
	["main", "Server::run", "Connection::read", "http::parse_request", "http::parse_body"],
	[
		"main",
		"Server::run",
		"Connection::read",
		"http::parse_request",
		"http::parse_body",
		"json::parse",
		"json::Value::push_back",
		"std::vector<\u2026>::_M_realloc_insert",
	],
	["main", "Server::run", "Connection::read", "http::parse_request"],
	["main", "Server::run", "Cache::insert", "Cache::grow"],
	["main", "Server::run", "Cache::insert"],
	["main", "Server::run", "Logger::format", "std::string::_M_create"],
	["worker_loop", "compress_block"],
	["worker_loop", "Image::decode"],
	["worker_loop", "render_template", "Template::expand", "std::string::_M_create"],
	["worker_loop", "render_template"],
].map((names) => names.map(id));

/* A generator of numbers below 1, with a fixed seed. */
function random(seed: number): () => number {
	let state = seed;

	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

interface Plan {
	stack: number;
	count: number;
	size: () => number;
	from: number; // share of the run
	to: number;
	life: () => number; // ns; infinite: never freed
	thread: number;
	freer?: number;
}

function plans(next: () => number): Plan[] {
	const between = (low: number, high: number) => () => Math.floor(low + next() * (high - low));
	const never = () => Number.POSITIVE_INFINITY;

	return [
		{ stack: 0, count: 40, size: between(16, 200), from: 0, to: 0.01, life: never, thread: 0 },
		{ stack: 1, count: 400, size: () => 1009, from: 0.02, to: 1, life: never, thread: 0 },
		{
			stack: 2,
			count: 300,
			size: between(2e4, 9e4),
			from: 0.05,
			to: 0.95,
			life: between(2e8, 7e8),
			thread: 0,
		},
		{
			stack: 3,
			count: 900,
			size: between(64, 32768),
			from: 0.05,
			to: 0.95,
			life: between(1e6, 9e8),
			thread: 0,
			freer: 1,
		},
		{ stack: 4, count: 500, size: () => 512, from: 0.05, to: 0.95, life: between(1e5, 1e8), thread: 0 },
		{ stack: 5, count: 90, size: between(5e4, 2e5), from: 0.1, to: 0.9, life: between(3e9, 8e9), thread: 0 },
		{ stack: 6, count: 700, size: between(48, 96), from: 0.1, to: 0.9, life: between(3e9, 8e9), thread: 0 },
		{ stack: 7, count: 1200, size: between(24, 240), from: 0, to: 1, life: between(200, 90000), thread: 3 },
		{ stack: 8, count: 60, size: () => 262144, from: 0.58, to: 0.66, life: between(3e8, 5e8), thread: 1 },
		{ stack: 9, count: 25, size: between(3e5, 9e5), from: 0.6, to: 0.64, life: between(2e8, 4e8), thread: 2 },
		{
			stack: 10,
			count: 600,
			size: between(30, 4000),
			from: 0.2,
			to: 1,
			life: between(1000, 1e7),
			thread: 2,
			freer: 3,
		},
		{
			stack: 11,
			count: 200,
			size: () => 4096,
			from: 0.2,
			to: 1,
			life: between(1e7, 2e8),
			thread: 1,
			freer: 0,
		},
	];
}

export function makeBlocks(): Block[] {
	const next = random(7);
	const blocks: Block[] = [];

	for (const plan of plans(next)) {
		for (let i = 0; i < plan.count; i++) {
			const alloc = Math.floor(DURATION * (plan.from + next() * (plan.to - plan.from)));
			const end = alloc + plan.life();
			const isFreed = end < DURATION;
			const freer = isFreed ? (plan.freer !== undefined && i % 3 === 0 ? plan.freer : plan.thread) : -1;
			blocks.push({
				stack: plan.stack,
				size: plan.size(),
				alloc,
				free: isFreed ? Math.floor(end) : -1,
				thread: plan.thread,
				freer,
			});
		}
	}
	return blocks.sort((a, b) => a.alloc - b.alloc);
}
