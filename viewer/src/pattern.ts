/*
 * pattern.ts - the search patterns of `allo top --focus`, for highlighting.
 *
 * Text anywhere in the name (smart case), =NAME for the whole name, /REGEX/ or /REGEX/i; fn:, file: and mod: restrict it.
 */
import type { CallName } from "./names.ts";

export type Matcher = (call: CallName, module: string) => boolean;

type Field = "any" | "fn" | "file" | "mod";

function testOf(text: string): (subject: string) => boolean {
	const regex = /^\/(.*)\/(i?)$/.exec(text);

	if (regex) {
		const compiled = new RegExp(regex[1]!, regex[2]);
		return (subject) => compiled.test(subject);
	}
	if (text.startsWith("=")) return (subject) => subject === text.slice(1);
	if (text !== text.toLowerCase()) return (subject) => subject.includes(text);
	return (subject) => subject.toLowerCase().includes(text);
}

/* A matcher, or undefined for an empty or unfinished pattern. */
export function matcherOf(pattern: string): Matcher | undefined {
	const prefix = /^(fn|file|mod):/.exec(pattern);
	const field = (prefix?.[1] ?? "any") as Field;
	const text = prefix ? pattern.slice(prefix[0].length) : pattern;

	if (text === "") return undefined;
	try {
		const test = testOf(text);
		const tests: Record<Field, Matcher> = {
			fn: (call) => test(call.name) || test(call.full),
			file: (call) => test(call.file),
			mod: (_, module) => test(module),
			any: (call, module) => test(call.name) || test(call.full) || test(call.file) || test(module),
		};
		return tests[field];
	} catch {
		return undefined; /* The engine explains a bad expression. */
	}
}
