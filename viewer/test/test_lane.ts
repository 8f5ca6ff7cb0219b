/* test_lane.ts - requests of a view: one in flight, the newest next. */
import assert from "node:assert/strict";
import test from "node:test";
import { Lane } from "../src/lane.ts";

test("requests between the first and the newest are dropped", async () => {
	const asked: number[] = [];
	const release: (() => void)[] = [];
	const lane = new Lane(async (n: number) => {
		asked.push(n);
		await new Promise<void>((resolve) => release.push(resolve));
		return n * 10;
	});
	const answers = [1, 2, 3, 4].map((n) => lane.ask(n));

	release.shift()!();
	assert.equal(await answers[0], 10);
	assert.equal(await answers[1], undefined);
	assert.equal(await answers[2], undefined);
	while (release.length === 0) await Promise.resolve();
	release.shift()!();
	assert.equal(await answers[3], 40);
	assert.deepEqual(asked, [1, 4]);
});

test("a failure is passed on, and the next request is asked", async () => {
	const lane = new Lane(async (n: number) => {
		if (n === 1) throw new Error("broken");
		return n;
	});

	await assert.rejects(lane.ask(1), /broken/);
	assert.equal(await lane.ask(2), 2);
});
