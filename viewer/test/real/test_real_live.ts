/* test_real_live.ts - a running process in the browser: it grows, can be frozen and marked, and stays after its end. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { closeBrowser, newPage, settle } from "../browser/browser.ts";
import { ALLO, startServer, startView } from "./allo.ts";

const folder = mkdtempSync(join(tmpdir(), "allo-live-"));

after(async () => {
	await closeBrowser();
	rmSync(folder, { recursive: true, force: true });
});

/* It allocates 1000 bytes for each line that it reads. */
const SOURCE = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *keep[100000];

static void *take_order(void) { return malloc(1000); }

int main(void)
{
	char line[80];
	printf("%d\\n", (int)getpid());
	fflush(stdout);
	for (int i = 0; i < 100000 && fgets(line, sizeof(line), stdin); i++)
		keep[i] = take_order();
	return keep[0] == NULL;
}
`;

interface Growing {
	pid: string;
	order(blocks: number): void;
	end(): Promise<void>;
}

/* A recorded program. */
async function startProgram(t: TestContext, name: string): Promise<Growing> {
	const program = join(folder, name);

	writeFileSync(`${program}.c`, SOURCE);
	execFileSync("gcc", ["-g", "-O1", `${program}.c`, "-o", program]);
	const child: ChildProcess = spawn(ALLO, ["run", "-q", "--raw", "-o", `${program}.allo`, "--", program]);
	const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
	t.after(() => void child.kill());
	const pid = await new Promise<string>((resolve) =>
		child.stdout!.once("data", (data) => resolve(String(data).trim())),
	);
	const order = (blocks: number) => void child.stdin!.write("\n".repeat(blocks));
	order(10);
	return {
		pid,
		order,
		async end() {
			child.stdin!.end();
			await ended;
		},
	};
}

const blocksShown = (page: Page, blocks: string) =>
	page
		.getByTestId("table")
		.getByRole("row")
		.filter({ hasText: "take_order" })
		.getByText(blocks)
		.first()
		.waitFor();

test("the page of allo view PID grows, freezes, marks, and stays after the end", async (t) => {
	const program = await startProgram(t, "orders");
	const url = await startView(t, program.pid);
	const { page } = await newPage(t);

	await page.goto(`${url}&view=table&m=end_blocks`);
	await page.getByTestId("strip").waitFor();
	await blocksShown(page, "10");
	program.order(13);
	await blocksShown(page, "23");
	await page.keyboard.press("g");
	await page.waitForURL(/mark=\d+/);
	program.order(100);
	await blocksShown(page, "123");
	await page.keyboard.press("G");
	await page.waitForURL(/b=0:/);
	await page.getByTestId("table").getByText("97.7 KiB").first().waitFor(); /* 100 blocks */
	await page.keyboard.press(" ");
	await page.getByRole("button", { name: "frozen" }).waitFor();
	program.order(1000);
	await page.getByRole("button", { name: "frozen" }).click();
	await page.getByText("1.05 MiB").first().waitFor(); /* 1100 blocks */
	await program.end();
	await page.getByRole("button", { name: "live" }).waitFor({ state: "detached" });
	await settle(page);
	assert.match(await page.getByTestId("table").innerText(), /take_order/);
});

test("the page of allo serve says which views need allo view", async (t) => {
	const program = await startProgram(t, "served");
	const url = await startServer(t, program.pid);
	const { page } = await newPage(t);

	await page.goto(`${url}&view=table&m=end_blocks`);
	await blocksShown(page, "10");
	await page.getByTestId("view-sql").click();
	const note = page.getByTestId("server-only");
	await note.waitFor();
	assert.match(
		await note.innerText(),
		/SQL needs the files of the machine[\s\S]*This server shows none[\s\S]*allo view/,
	);
	await page.getByTestId("view-source").click();
	await settle(page);
	await page.getByTestId("files").getByText("served.c").dblclick();
	await note.waitFor();
	assert.match(await note.innerText(), /^Source needs/);
	await page.getByTestId("view-table").click();
	await blocksShown(page, "10");
	await program.end();
});
