/*
 * marionette.ts - drives a Firefox through Marionette, the protocol that it speaks itself: no driver is needed.
 *
 * A message is its length, a colon and JSON: [0, id, command, parameters] to Firefox, [1, id, error, result] back.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf"; // the key of element references in WebDriver

/* Keys that are not characters, as WebDriver encodes them. */
export const KEYS = {
	escape: "\uE00C",
	enter: "\uE007",
	down: "\uE015",
	up: "\uE013",
	right: "\uE014",
	left: "\uE012",
};

const PREFERENCES = {
	"marionette.port": 0, // any: the profile gets a file with the number
	"datareporting.policy.dataSubmissionEnabled": false,
	"browser.shell.checkDefaultBrowser": false,
	"toolkit.telemetry.reportingpolicy.firstRun": false,
	"network.captive-portal-service.enabled": false,
	"network.connectivity-service.enabled": false,
	"app.normandy.enabled": false,
	"app.update.disabledForTesting": true,
	"extensions.getAddons.cache.enabled": false,
	"services.settings.server": "data:,#remote-settings-dummy/v1",
	"browser.safebrowsing.update.enabled": false,
	"media.gmp-manager.updateEnabled": false,
};

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Pending {
	resolve(value: unknown): void;
	reject(error: Error): void;
}

export class Firefox {
	private readonly profile = mkdtempSync(join(tmpdir(), "allo-firefox-"));
	private readonly process: ChildProcess;
	private socket: Socket | undefined;
	private received = Buffer.alloc(0);
	private readonly pending = new Map<number, Pending>();
	private lastId = 0;

	private constructor(program: string, width: number, height: number) {
		const lines = Object.entries(PREFERENCES).map(
			([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
		);
		writeFileSync(join(this.profile, "user.js"), lines.join("\n"));
		this.process = spawn(
			program,
			[
				"--headless",
				`--width=${width}`,
				`--height=${height}`,
				"--marionette",
				"--remote-allow-system-access",
				"--no-remote",
				"--profile",
				this.profile,
			],
			{ stdio: "ignore", env: { ...process.env, MOZ_CRASHREPORTER_DISABLE: "1" } },
		);
	}

	static async launch(program: string, width = 1280, height = 800): Promise<Firefox> {
		const firefox = new Firefox(program, width, height);

		await firefox.connect();
		await firefox.send("WebDriver:NewSession", {
			capabilities: { alwaysMatch: { timeouts: { script: 600_000 } } },
		});
		return firefox;
	}

	private async connect(): Promise<void> {
		for (;;) {
			if (this.process.exitCode !== null)
				throw new Error(`Firefox ended with status ${this.process.exitCode}`);
			try {
				const port = Number(readFileSync(join(this.profile, "MarionetteActivePort"), "utf8"));
				const socket = connect(port, "127.0.0.1");
				await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
				socket.on("data", (data) => this.receive(data));
				this.socket = socket;
				return;
			} catch {
				await wait(50); // it is still starting
			}
		}
	}

	private receive(data: Buffer): void {
		this.received = Buffer.concat([this.received, data]);
		for (;;) {
			const colon = this.received.indexOf(":");
			const end = colon + 1 + Number(this.received.subarray(0, Math.max(colon, 0)).toString());
			if (colon < 0 || this.received.length < end) return;
			const message = JSON.parse(this.received.subarray(colon + 1, end).toString());
			this.received = this.received.subarray(end);
			if (Array.isArray(message))
				this.settle(message as [number, number, { message: string } | null, unknown]);
		}
	}

	private settle([, id, error, result]: [number, number, { message: string } | null, unknown]): void {
		const pending = this.pending.get(id);

		this.pending.delete(id);
		if (error) pending?.reject(new Error(error.message));
		else pending?.resolve(result);
	}

	private send(command: string, parameters: object = {}): Promise<unknown> {
		const id = ++this.lastId;
		const message = Buffer.from(JSON.stringify([0, id, command, parameters]));

		this.socket?.write(Buffer.concat([Buffer.from(`${message.length}:`), message]));
		return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
	}

	async open(url: string): Promise<void> {
		await this.send("WebDriver:Navigate", { url });
	}

	async run<T>(script: string, ...args: unknown[]): Promise<T> {
		const { value } = (await this.send("WebDriver:ExecuteScript", { script, args })) as { value: T };
		return value;
	}

	/* Errors of pages since the last call: exceptions, and requests that the page's policy refuses. */
	async complaints(): Promise<string[]> {
		await this.send("Marionette:SetContext", { value: "chrome" });
		const found = await this.run<string[]>(`
			const errors = Services.console.getMessageArray().filter((message) =>
				message instanceof Ci.nsIScriptError && !(message.flags & message.warningFlag) &&
				/^(http|file|blob|data):/.test(message.sourceName));
			Services.console.reset();
			return errors.map((error) => error.errorMessage);
		`);
		await this.send("Marionette:SetContext", { value: "content" });
		return found;
	}

	/* The text of the first match; undefined: none. */
	async text(selector: string): Promise<string | undefined> {
		return (
			(await this.run<string | null>("return document.querySelector(arguments[0])?.innerText", selector)) ??
			undefined
		);
	}

	async count(selector: string): Promise<number> {
		return this.run("return document.querySelectorAll(arguments[0]).length", selector);
	}

	async until(claim: string, condition: () => Promise<boolean>): Promise<void> {
		const end = Date.now() + 600_000;

		while (!(await condition())) {
			if (Date.now() > end) throw new Error(`still not true: ${claim}`);
			await wait(20);
		}
	}

	async click(selector: string): Promise<void> {
		const { value } = (await this.send("WebDriver:FindElement", {
			using: "css selector",
			value: selector,
		})) as {
			value: Record<string, string>;
		};
		await this.send("WebDriver:ElementClick", { id: value[ELEMENT] });
	}

	/* Types characters and KEYS. */
	async press(keys: string): Promise<void> {
		const actions = [...keys].flatMap((value) => [
			{ type: "keyDown", value },
			{ type: "keyUp", value },
		]);
		await this.send("WebDriver:PerformActions", { actions: [{ type: "key", id: "keys", actions }] });
	}

	/* Drags with the mouse, between points in the window. */
	async drag(from: [number, number], to: [number, number]): Promise<void> {
		const move = ([x, y]: [number, number]) => ({
			type: "pointerMove",
			x: Math.round(x),
			y: Math.round(y),
			duration: 0,
		});
		const actions = [
			move(from),
			{ type: "pointerDown", button: 0 },
			move([(from[0] + to[0]) / 2, to[1]]),
			move(to),
			{ type: "pointerUp", button: 0 },
		];
		await this.send("WebDriver:PerformActions", { actions: [{ type: "pointer", id: "mouse", actions }] });
	}

	/* A PNG picture of the window. */
	async picture(): Promise<Buffer> {
		const { value } = (await this.send("WebDriver:TakeScreenshot", { full: false })) as { value: string };
		return Buffer.from(value, "base64");
	}

	async close(): Promise<void> {
		const ended = new Promise((resolve) => this.process.once("exit", resolve));

		this.process.kill("SIGKILL");
		await ended;
		rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
	}
}
