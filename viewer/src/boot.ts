/*
 * boot.ts - starts the page of a report: its script is a packed part, too, which saves 80 KB.
 *
 * Other pages have their script in place, and no such part.  The Content-Security-Policy names the hash of the script, so
 * the browser runs no other one.
 */
import { takeText } from "./embedded.ts";

async function boot(): Promise<void> {
	const script = await takeText("allo-script");
	if (script === undefined) return;
	const element = document.createElement("script");

	element.textContent = script;
	document.body.append(element);
}

boot().catch((error) => {
	document.getElementById("app")!.textContent =
		`This browser cannot unpack the report: ${error}. A current one can; so can 'allo view FILE'.`;
});
