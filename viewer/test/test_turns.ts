/* test_turns.ts - figures beside a view ask after it. */
import assert from "node:assert/strict";
import test from "node:test";
import { askFirst, askNext } from "../src/turns.ts";

/* Requests in the order in which they reach the engine; each is answered when the test says so. */
function engine() {
	const asked: string[] = [];
	const answers = new Map<string, () => void>();

	return {
		asked,
		ask: (name: string) => () => {
			asked.push(name);
			return new Promise<string>((resolve) => answers.set(name, () => resolve(name)));
		},
		async answer(name: string) {
			answers.get(name)!();
			await new Promise((resolve) => setTimeout(resolve, 0));
		},
	};
}

test("a view asks before figures that ask in the same moment", async () => {
	const { asked, ask, answer } = engine();

	const figures = askNext(ask("figures"));
	const view = askFirst(ask("view"));
	await answer("view");
	assert.deepEqual(asked, ["view", "figures"]);
	await answer("figures");
	assert.deepEqual(await Promise.all([view, figures]), ["view", "figures"]);
});

test("figures wait for all views", async () => {
	const { asked, ask, answer } = engine();

	void askFirst(ask("one"));
	void askFirst(ask("two"));
	void askNext(ask("figures"));
	await answer("one");
	assert.deepEqual(asked, ["one", "two"]);
	await answer("two");
	assert.deepEqual(asked, ["one", "two", "figures"]);
	await answer("figures");
});

test("figures ask at once when no view does", async () => {
	const { asked, ask, answer } = engine();

	void askNext(ask("figures"));
	await Promise.resolve();
	assert.deepEqual(asked, ["figures"]);
	await answer("figures");
});

test("figures go on when the view's request fails", async () => {
	const { asked, ask, answer } = engine();

	const view = askFirst(() => Promise.reject(new Error("gone")));
	void askNext(ask("figures"));
	await assert.rejects(view, /gone/);
	await new Promise((resolve) => setTimeout(resolve, 0));
	assert.deepEqual(asked, ["figures"]);
	await answer("figures");
});
