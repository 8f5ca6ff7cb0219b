/* test_svg.mjs - flame graphs as a browser shows them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { allo, alloJson, closeBrowser, file, folder, golden, open } from "./browser.mjs";

after(closeBrowser);

const HEAP = golden("dhat/valgrind-heap.json"); /* 1,178,112 bytes at the peak, in 1,002 blocks */

function convert(t, input, ...words) {
	const svg = join(folder(t), "flame.svg");

	allo("convert", input, "-o", svg, ...words);
	return svg;
}

const folded = (t, text) => file(t, "test.folded", text);

/* The rows of `allo tree`, with the names of the callers and of the call. */
function treeOf(input) {
	const { nodes } = alloJson("tree", "--min", "0", "--keep-allocator", input);
	const paths = new Map();

	for (const node of nodes)
		paths.set(node.id, node.path = node.id === 0 ? "" : paths.get(node.parent) + ";" + node.name);
	return nodes;
}

/* The boxes as they are written, without a script's help. */
async function staticBoxes(t, svg) {
	const page = await open(t, svg, { javaScriptEnabled: false });
	const boxes = await page.locator("#graph rect").evaluateAll((rects) => rects.map((rect) => ({
		lines: rect.textContent.split("\n"), depth: rect.getAttribute("y") / 18,
		x: parseFloat(rect.getAttribute("x")), width: parseFloat(rect.getAttribute("width")),
		value: rect.dataset.v, pixels: rect.getBoundingClientRect().width,
	})));
	const path = [];

	for (const box of boxes) {
		path.length = box.depth;
		path[box.depth] = box;
		box.parent = path[box.depth - 1];
		box.path = path.slice(1).map((each) => ";" + each.lines[0]).join("");
	}
	return boxes;
}

/* A frame by its name, the first of several. */
const frame = (page, name) => page.evaluateHandle((wanted) => [...document.querySelectorAll("#graph rect")]
	.find((rect) => rect.frame.name === wanted), name);

const widthOf = (rect) => rect.evaluate((element) => element.getBoundingClientRect().width);
const graphWidth = (page) => page.locator("#graph").evaluate((graph) => Number(graph.getAttribute("width")));

for (const name of ["dhat/valgrind-heap.json", "dhat/valgrind-cpp.json", "pprof/go-heap.pb.gz",
	"folded/heaptrack-allocations.folded"]) {
	test(`${name}: boxes are those of allo tree, as wide as their share`, async (t) => {
		const tree = treeOf(golden(name));
		const boxes = await staticBoxes(t, convert(t, golden(name)));
		const whole = tree[0].total;

		for (const box of boxes) {
			/* Names may be the same in several files. */
			const node = tree.find((each) => each.path === box.path && each.total === Number(box.value));

			assert.ok(node, box.path);
			assert.ok(Math.abs(box.width - 100 * node.total / whole) < 1e-4, box.path);
			if (box.parent) {
				assert.ok(box.x > box.parent.x - 1e-3);
				assert.ok(box.x + box.width < box.parent.x + box.parent.width + 1e-3);
			}
			tree.splice(tree.indexOf(node), 1);
		}
		for (const node of tree)
			assert.ok(node.total / whole < 0.1 / 1200, `${node.name} is missing`);
	});
}

test("boxes of one row do not overlap", async (t) => {
	const boxes = await staticBoxes(t, convert(t, golden("pprof/go-allocs.pb.gz")));

	for (const box of boxes) {
		const next = boxes.find((other) => other.depth === box.depth && other.x > box.x);

		assert.ok(!next || box.x + box.width < next.x + 1e-3);
	}
});

test("the header tells the program, the metric and the exact total", async (t) => {
	const page = await open(t, convert(t, HEAP));

	assert.equal(await page.locator("#title").textContent(), "Live at the program's peak: ./demo");
	assert.equal(await page.locator("#subtitle").textContent(),
		"peak_bytes: 1,178,112 bytes (1.12 MiB) in 1,002 blocks, live at the program's peak");
	assert.equal(await page.title(), "Live at the program's peak: ./demo");
});

test("a title of one's own leaves the metric in the second line", async (t) => {
	const page = await open(t, convert(t, HEAP, "--title", "Before <the> fix"));

	assert.equal(await page.locator("#title").textContent(), "Before <the> fix");
	assert.match(await page.locator("#subtitle").textContent(), /^peak_bytes: 1,178,112 bytes/);
});

for (const width of [500, 1200, 2000]) {
	test(`a window of ${width} pixels is filled`, async (t) => {
		const page = await open(t, convert(t, HEAP), { viewport: { width, height: 700 } });
		const pixels = await widthOf(await frame(page, "all"));
		const list = await widthOf(await frame(page, "build_list"));

		assert.equal(pixels, width - 24);
		/* 64,000 of 1,178,112 bytes are build_list's. */
		assert.ok(Math.abs(list - pixels * 64000 / 1178112) < 0.1, String(list));
		assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
	});
}

test("a click zooms, and the way back is there", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const whole = await graphWidth(page);
	const list = await frame(page, "build_list"), grown = await frame(page, "grow_buffer");
	const before = await widthOf(list);

	await list.click();
	assert.equal(await widthOf(list), whole);
	assert.equal(await widthOf(await frame(page, "main")), whole);
	assert.equal(await grown.isVisible(), false);
	assert.equal(await page.locator("#crumbs").textContent(), "all \u203a main \u203a build_list");
	await page.locator("#crumbs button", { hasText: "all" }).click();
	assert.equal(await widthOf(list), before);
	assert.equal(await grown.isVisible(), true);

	await list.click();
	await page.getByRole("button", { name: "Reset" }).click();
	assert.equal(await widthOf(list), before);
});

test("a tooltip has name, place, bytes and shares", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const tip = page.locator("#tip div");

	await (await frame(page, "build_list")).hover();
	assert.deepEqual(await tip.allTextContents(), ["build_list", "demo.c:24",
		"64,000 bytes (62.5 KiB) in 1,000 blocks", "5.4% of all"]);
	await (await frame(page, "main")).click();
	await (await frame(page, "build_list")).hover();
	assert.equal((await tip.allTextContents())[3], "5.4% of all, 5.4% of main");
	await page.locator("#title").hover();
	assert.equal(await page.locator("#tip").isVisible(), false);
});

test("a tooltip stays within the window", async (t) => {
	const page = await open(t, convert(t, HEAP), { viewport: { width: 600, height: 260 } });

	await (await frame(page, "build_list")).hover();
	const box = await page.locator("#tip").boundingBox();

	assert.ok(box.x >= 0 && box.x + box.width <= 600 && box.y >= 0 && box.y + box.height <= 260);
});

const NESTED = "a;b;a;b 10\na;c 5\nd;a 4\nd 1\n";

async function searchFor(page, text) {
	await page.keyboard.press("Escape");
	await page.keyboard.press("/");
	await page.keyboard.type(text);
	return {
		result: await page.locator("#result").textContent(),
		found: await page.locator("#graph rect.found").evaluateAll((rects) => rects.map((rect) => rect.frame.name)),
	};
}

test("a search counts what lies within another match once", async (t) => {
	const page = await open(t, convert(t, folded(t, NESTED)));

	assert.deepEqual(await searchFor(page, "a"), { result: "3 matches: 19, 95.0% of all", found: ["a", "a", "a"] });
	assert.deepEqual(await searchFor(page, "b"), { result: "2 matches: 10, 50.0% of all", found: ["b", "b"] });
	assert.deepEqual(await searchFor(page, "/^[cd]$/"), { result: "2 matches: 10, 50.0% of all", found: ["c", "d"] });
	assert.deepEqual(await searchFor(page, "=c"), { result: "1 match: 5, 25.0% of all", found: ["c"] });
	assert.deepEqual(await searchFor(page, "A"), { result: "no match", found: [] });
	assert.deepEqual(await searchFor(page, "/A/i"), { result: "3 matches: 19, 95.0% of all", found: ["a", "a", "a"] });
});

test("a search finds files as well, and says bytes in units", async (t) => {
	const page = await open(t, convert(t, HEAP));

	assert.equal((await searchFor(page, "make_node")).result, "1 match: 62.5 KiB, 5.4% of all");
	assert.match((await searchFor(page, "demo.c:1")).result, /^\d+ match/);
});

test("a broken expression is shown to be broken", async (t) => {
	const page = await open(t, convert(t, HEAP));

	assert.equal((await searchFor(page, "/(/")).result, "");
	assert.equal(await page.locator("#search input.wrong").count(), 1);
});

test("Ctrl-F and the button search, Escape ends it", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const input = page.locator("#search input");

	assert.equal(await input.isVisible(), false);
	await page.keyboard.press("Control+f");
	assert.equal(await input.evaluate((element) => element === document.activeElement), true);
	await page.keyboard.type("main");
	assert.equal(await page.locator("#graph rect.found").count(), 1);
	await page.keyboard.press("Escape");
	assert.equal(await input.isVisible(), false);
	assert.equal(await page.locator("#graph rect.found").count(), 0);
	await page.getByRole("button", { name: "Search" }).click();
	assert.equal(await input.isVisible(), true);
});

const focusedName = (page) => page.evaluate(() => document.activeElement.frame?.name);

async function press(page, ...keys) {
	for (const key of keys)
		await page.keyboard.press(key);
	return focusedName(page);
}

test("keys go from frame to frame, zoom in and out", async (t) => {
	const page = await open(t, convert(t, folded(t, "a;b 6\na;c;d 3\ne;f 1\n")));
	const whole = await graphWidth(page);

	assert.equal(await press(page, "Tab"), "all");
	assert.equal(await press(page, "Tab"), "a");
	assert.equal(await press(page, "Shift+Tab"), "all");
	assert.equal(await press(page, "ArrowDown", "ArrowDown"), "b");
	assert.equal(await page.locator("#tip b").textContent(), "b");
	assert.equal(await press(page, "ArrowRight"), "c");
	assert.equal(await press(page, "ArrowRight"), "f"); /* the next in the row */
	assert.equal(await press(page, "ArrowRight"), "f");
	assert.equal(await press(page, "ArrowLeft", "ArrowDown"), "d");
	assert.equal(await press(page, "ArrowUp"), "c");
	await press(page, "Enter");
	assert.equal(await widthOf(await frame(page, "c")), whole);
	await press(page, "ArrowDown", "Enter");
	assert.equal(await page.locator("#crumbs b").textContent(), "d");
	await press(page, "Backspace");
	assert.equal(await page.locator("#crumbs b").textContent(), "c");
	await press(page, "Escape");
	assert.ok(await widthOf(await frame(page, "c")) < whole / 3);
});

test("i turns the picture over, and the arrows with it", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const top = async (name) => (await (await frame(page, name)).boundingBox()).y;

	assert.ok(await top("all") < await top("main"));
	await page.keyboard.press("i");
	assert.ok(await top("all") > await top("main"));
	assert.equal(await press(page, "Tab", "ArrowUp"), "main");
	assert.equal(await press(page, "ArrowDown"), "all");
});

test("? shows the keys and hides them", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const keys = page.locator("#keys");

	await page.keyboard.press("?");
	assert.equal(await keys.isVisible(), true);
	assert.match(await keys.textContent(), /zoom out/);
	await page.keyboard.press("Escape");
	assert.equal(await keys.isVisible(), false);
});

/* How much two colours differ, as WCAG has it; 4.5 is enough for text. */
function contrast(one, other) {
	const light = (color) => [0.2126, 0.7152, 0.0722].reduce((sum, part, i) => {
		const value = color[i] / 255;

		return sum + part * (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
	}, 0.05);
	const [most, least] = [light(one), light(other)].sort((a, b) => b - a);

	return most / least;
}

/* Each kind of box with the colour that it has on the page, and its label's. */
async function colors(page) {
	return page.evaluate(() => {
		const graph = document.getElementById("graph");
		const labels = document.getElementById("labels");
		const numbers = (color) => color.match(/[\d.]+/g).map(Number);
		const background = numbers(getComputedStyle(document.getElementById("page")).fill);
		const names = ["all", "other", ...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => "g" + i), ...[0, 1, 2, 3].map((i) => "w" + i),
			...[0, 1, 2, 3, 4].flatMap((i) => ["up" + i, "down" + i])];

		return names.flatMap((name) => ["", " own"].map((own) => {
			const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
			const text = document.createElementNS("http://www.w3.org/2000/svg", "text");

			box.setAttribute("class", name + own);
			text.setAttribute("class", name);
			graph.append(box);
			labels.append(text);
			const fill = numbers(getComputedStyle(box).fill), opacity = Number(getComputedStyle(box).fillOpacity);
			const ink = numbers(getComputedStyle(text).fill);

			return { name: name + own, ink, fill: fill.map((part, i) => part * opacity + background[i] * (1 - opacity)) };
		}));
	});
}

for (const colorScheme of ["light", "dark"]) {
	for (const kind of ["module", "comparison"]) {
		test(`labels can be read on every colour: ${kind}, ${colorScheme}`, async (t) => {
			const input = kind === "module" ? HEAP : golden("folded/diff.folded");
			const page = await open(t, convert(t, input), { colorScheme });
			const isUsed = ({ name }) => /^(up|down)/.test(name) === (kind === "comparison");

			for (const color of (await colors(page)).filter(isUsed))
				assert.ok(contrast(color.ink, color.fill) >= 4.5,
					`${color.name}: ${contrast(color.ink, color.fill).toFixed(2)}`);
		});
	}
}

test("a dark page is dark all over", async (t) => {
	const page = await open(t, convert(t, HEAP), { colorScheme: "dark" });
	const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

	assert.equal(background, "rgb(25, 23, 20)");
});

test("a comparison is red where it has grown and blue where it has shrunk", async (t) => {
	const page = await open(t, convert(t, golden("folded/diff.folded")));
	const classes = await page.locator("#graph rect").evaluateAll((rects) => Object.fromEntries(
		rects.map((rect) => [rect.frame.name, rect.classList[0]])));

	assert.equal(classes.leak_some, "down4"); /* 5 to 0 */
	assert.equal(classes.worker, "up4"); /* 0 to 300 */
	assert.equal(classes.grow_buffer, "up0"); /* 12 to 12 */
	assert.equal(classes.main, "up2"); /* 1017 to 1312 */
	/* As wide as the larger of both, stack by stack: 1300 + 12 + 5 of 1617. */
	const share = await widthOf(await frame(page, "main")) / await graphWidth(page);

	assert.ok(Math.abs(share - 1317 / 1617) < 1e-3);
	for (const tip of [["main", "before 1,017, after 1,312", "+295, +29.0%"], ["leak_some", "before 5, after 0", "\u22125, gone"],
		["worker", "before 0, after 300", "+300, new"], ["grow_buffer", "before 12, after 12", "no change"]]) {
		await (await frame(page, tip[0])).hover();
		assert.deepEqual(await page.locator("#tip div").allTextContents(), tip);
	}
	assert.equal((await searchFor(page, "main")).result, "1 match: 1,017 before, 1,312 after");
	await page.keyboard.press("Escape");
	await (await frame(page, "worker")).click();
	assert.equal(await (await frame(page, "clone")).evaluate((rect) => getComputedStyle(rect).fillOpacity), "0.3");
});

test("differences are as wide as they are large, below zero or above", async (t) => {
	const difference = join(folder(t), "difference.pb.gz");

	allo("diff", folded(t, "a;b 10\nc 30\nd 5\n"), folded(t, "a;b 70\nc 20\nd 5\n"), "-o", difference);
	const page = await open(t, convert(t, difference));
	const shown = await page.locator("#graph rect").evaluateAll((rects) => rects.map((rect) => [
		rect.frame.name, rect.classList[0], rect.getAttribute("width"), String(rect.frame.value)]));

	assert.deepEqual(shown, [["all", "up4", "100.0000%", "50"], ["a", "up4", "85.7143%", "60"],
		["b", "up4", "85.7143%", "60"], ["c", "down4", "14.2857%", "-10"]]);
	await (await frame(page, "c")).hover();
	assert.deepEqual(await page.locator("#tip div").allTextContents(), ["c", "\u221210", "-20.0% of all"]);
});

test("names of any kind are text and nothing else", async (t) => {
	const names = ["<script>alert(1)</script>", "]]></script><svg onload=alert(1)>", "\"quotes\" & 'more'", "&amp &#60",
		"bell\x07 escape\x1b[31m", "__proto__", "constructor", "  spaces", "\u202eright to left",
		"std::map<std::string, std::vector<int> >::operator[](std::string const&)"];
	const page = await open(t, convert(t, folded(t, names.map((name) => `main;${name} 10\n`).join(""))));
	const shown = await page.locator("#graph rect").evaluateAll((rects) => rects.map((rect) => rect.frame.name));

	assert.deepEqual(shown.slice(2).sort(), names.map((name) => name
		.replace("\x07", "\u2407").replace("\x1b", "\u241b")).sort());
	assert.equal(await page.locator("script").count(), 1);
	assert.equal((await searchFor(page, "script>")).found.length, 2);
	for (const rect of await page.locator("#graph rect").all())
		await rect.hover();
});

test("long names and bytes that are not text do no harm", async (t) => {
	const long = "x".repeat(10240), wide = "\u540d".repeat(5000);
	const input = folded(t, Buffer.concat([Buffer.from(`main;${long} 10\nmain;${wide} 10\nmain;bad`),
		Buffer.from([0xff, 0xc3, 0x20]), Buffer.from(" 10\n")]));
	const page = await open(t, convert(t, input));
	const shown = await page.locator("#graph rect").evaluateAll((rects) => rects.map((rect) => rect.frame.name));

	assert.ok(shown.some((name) => /^x+ \u2026 x+$/.test(name) && name.length < 1000));
	assert.ok(shown.some((name) => /^\u540d+ \u2026 \u540d+$/.test(name)));
	assert.ok(shown.includes("bad\ufffd\ufffd"));
});

test("labels stay within their boxes", async (t) => {
	for (const width of [400, 1200]) {
		const page = await open(t, convert(t, golden("dhat/valgrind-cpp.json")), { viewport: { width, height: 700 } });
		const over = await page.locator("#labels text").evaluateAll((texts) => {
			const boxes = [...document.querySelectorAll("#graph rect")].map((rect) => rect.frame)
				.filter((each) => each.text);

			return boxes.map((each) => each.text.getBoundingClientRect().right - each.box.getBoundingClientRect().right);
		});

		assert.ok(over.length > 5);
		assert.ok(over.every((pixels) => pixels < 0), String(over));
	}
});

test("labels are clipped without a script, too", async (t) => {
	const page = await open(t, convert(t, golden("dhat/valgrind-cpp.json")), { javaScriptEnabled: false });
	const windows = await page.locator("#labels svg").evaluateAll((all) => all.map((each) => getComputedStyle(each).overflow));

	assert.ok(windows.length > 5);
	assert.ok(windows.every((overflow) => overflow === "hidden"));
});

test("it is a picture of a fixed shape in <img>", async (t) => {
	const svg = convert(t, HEAP);
	const page = await open(t, file(t, "page.html", `<img src="file://${svg}">`));
	const size = await page.locator("img").evaluate(async (image) => {
		await image.decode();
		return [image.naturalWidth, image.naturalHeight];
	});

	assert.deepEqual(size, [1200, Number(/ height="(\d+)"/.exec(readFileSync(svg, "utf8"))[1])]);
});

test("nothing to draw is said", async (t) => {
	const page = await open(t, convert(t, golden("dhat/valgrind-empty.json")));

	assert.match(await page.locator("#subtitle").textContent(), /^There is nothing to draw: peak_bytes is 0/);
	assert.equal(await page.locator("#graph").count(), 0);
});

/* Three stacks of one program: own code, a container, and a wrapper. */
const MIXED = "main;load;std::vector<int>::push_back(int) 60\nmain;read;xmalloc 30\nmain;draw 10\n";

for (const colorScheme of ["light", "dark"]) {
	test(`own code is strong, libraries are pale, wrappers are grey (${colorScheme})`, async (t) => {
		const page = await open(t, convert(t, file(t, "mixed.txt", MIXED), "--from", "folded", "-M", "samples"),
			{ colorScheme });
		const style = async (name) => (await frame(page, name)).evaluate((rect) => {
			const { fill, fillOpacity } = getComputedStyle(rect);

			return { opacity: Number(fillOpacity), rgb: fill.match(/\d+/g).map(Number), class: rect.getAttribute("class") };
		});
		const own = await style("load"), library = await style("std::vector<int>::push_back(int)");
		const leaf = await style("draw");

		assert.ok(leaf.opacity > own.opacity && own.opacity > library.opacity + 0.2);
		assert.match(library.class, /\blib\b/);
		assert.doesNotMatch(own.class + leaf.class, /\b(lib|skip)\b/);
		assert.match(await page.locator(".keys").textContent(), /own code.*libraries/);
	});
}

test("skipped wrappers are grey, and options decide on them", async (t) => {
	const classOf = async (...words) => {
		const page = await open(t, convert(t, HEAP, ...words));

		return {
			keys: await page.locator(".keys").textContent(),
			malloc: await (await frame(page, "malloc")).evaluate((rect) => {
				const [r, g, b] = getComputedStyle(rect).fill.match(/\d+/g).map(Number);

				return [rect.classList.contains("skip"), Math.max(r, g, b) - Math.min(r, g, b)];
			}),
			node: await (await frame(page, "make_node")).evaluate((rect) => rect.classList.contains("skip")),
		};
	};
	const plain = await classOf(), named = await classOf("--alloc-fn", "make_node");

	assert.equal(plain.malloc[0], true);
	assert.ok(plain.malloc[1] < 20, "grey");
	assert.equal(plain.node, false);
	assert.equal(named.node, true);
	assert.match(plain.keys, /skipped wrappers/);
});

test("a picture of own code alone has no legend for it", async (t) => {
	const page = await open(t, convert(t, folded(t, NESTED)));

	assert.doesNotMatch(await page.locator(".keys").textContent(), /own code/);
});

/* The frames that are drawn, from the page's point of view. */
const drawn = (page) => page.locator("#graph rect").evaluateAll((rects) => rects.map(({ frame }) => ({
	name: frame.name, depth: frame.depth, value: Number(frame.value), pixels: frame.pixels,
	parent: frame.parent && frame.parent.name, start: frame.start, width: frame.width,
})));

for (const name of ["dhat/valgrind-heap.json", "pprof/go-heap.pb.gz", "dhat/dhat-rs-heap.json"]) {
	test(`${name}: bottom-up begins with the functions of allo top`, async (t) => {
		const page = await open(t, convert(t, golden(name)));
		const { rows, sum } = alloJson("top", "-n", "0", "--keep-allocator", golden(name));
		const before = await drawn(page), wanted = new Map(), found = new Map();

		await page.getByRole("button", { name: "Bottom-up" }).click();
		const frames = await drawn(page);

		for (const row of rows.filter((each) => each.self / sum > 0.001))
			wanted.set(row.name, (wanted.get(row.name) || 0) + row.self);
		for (const each of frames.filter((one) => one.depth === 1 && one.value / sum > 0.001))
			found.set(each.name, (found.get(each.name) || 0) + each.value);
		assert.deepEqual([...found].sort(), [...wanted].sort());
		for (const each of frames)
			assert.ok(each.depth === 0 || each.width <= sum && each.pixels > 0, each.name);
		await page.keyboard.press("b");
		assert.deepEqual(await drawn(page), before);
	});
}

test("bottom-up has the callers within, with lines and shares", async (t) => {
	const page = await open(t, convert(t, folded(t, "a;b;c 6\na;d;c 3\nc 1\na;b 9\n")));
	const paths = async () => {
		const path = [];

		return (await drawn(page)).map((each) => {
			path.length = each.depth;
			path[each.depth] = each.name;
			return path.slice(1).join(" < ") + " " + each.value;
		});
	};

	await page.keyboard.press("b");
	assert.deepEqual(await paths(), [" 19", "c 10", "c < b 6", "c < b < a 6", "c < d 3", "c < d < a 3", "b 9", "b < a 9"]);
	await (await frame(page, "d")).hover();
	assert.deepEqual(await page.locator("#tip div").allTextContents(), ["d", "3", "15.8% of all"]);
	assert.equal((await searchFor(page, "a")).result, "3 matches: 18, 94.7% of all");
});

test("tooltips of both directions have the line", async (t) => {
	const page = await open(t, convert(t, HEAP));

	for (const key of ["", "b"]) {
		if (key)
			await page.keyboard.press(key);
		await (await frame(page, "build_list")).hover();
		assert.equal((await page.locator("#tip div").allTextContents())[1], "demo.c:24");
	}
});

test("markup in names stays text when the graph is turned round", async (t) => {
	const evil = "<img src=x onerror=alert(1)>";
	const page = await open(t, convert(t, folded(t, `main;${evil} 5\n`)));

	await page.keyboard.press("b");
	assert.deepEqual((await drawn(page)).map((each) => each.name), ["all", evil, "main"]);
	assert.equal(await page.locator("img").count(), 0);
});

test("a comparison has no bottom-up mode", async (t) => {
	const page = await open(t, convert(t, golden("folded/diff.folded")));

	assert.equal(await page.getByRole("button", { name: "Bottom-up" }).count(), 0);
	const before = await drawn(page);

	await page.keyboard.press("b");
	assert.deepEqual(await drawn(page), before);
});

/* Metrics. */

const menu = (page) => page.getByRole("combobox", { name: "metric" });
const texts = (page) => page.evaluate(() => ["title", "subtitle"].map((id) => document.getElementById(id).textContent));
const END = "Live when recording ended", ALLOCATED = "Ever allocated", BLOCKS = "Ever allocated (blocks)";

for (const name of ["dhat/valgrind-heap.json", "dhat/valgrind-cpp.json", "allo/server.allo"]) {
	for (const [chosen, ...metrics] of [[END, "end_bytes", "end_blocks"], [ALLOCATED, "alloc_bytes", "alloc_blocks"],
		[BLOCKS, "alloc_blocks"]]) {
		if (chosen === END && name === "dhat/valgrind-cpp.json")
			continue; /* it leaks nothing */
		test(`${name}: ${chosen} is what a file of that metric alone has`, async (t) => {
			const page = await open(t, convert(t, golden(name)));
			const alone = await open(t, convert(t, golden(name), ...metrics.flatMap((each) => ["-M", each])));
			const before = await drawn(page), first = await texts(page);

			await menu(page).selectOption(chosen);
			assert.deepEqual(await drawn(page), await drawn(alone));
			assert.deepEqual(await texts(page), await texts(alone));
			for (const search of ["a", "/./"])
				assert.deepEqual(await searchFor(page, search), await searchFor(alone, search));
			for (const each of [page, alone]) {
				await each.keyboard.press("Escape");
				await each.getByRole("button", { name: "Bottom-up" }).click();
			}
			assert.deepEqual(await drawn(page), await drawn(alone));
			assert.equal(await page.locator("#graph").getAttribute("height"), await alone.locator("#graph").getAttribute("height"));
			await page.getByRole("button", { name: "Bottom-up" }).click();
			await menu(page).selectOption({ index: 0 });
			assert.deepEqual(await drawn(page), before);
			assert.deepEqual(await texts(page), first);
		});
	}
}

test("bottom-up stays when the metric changes", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const { rows } = alloJson("top", "-n", "0", "--keep-allocator", "-M", "alloc_bytes", HEAP);

	await page.keyboard.press("b");
	await menu(page).selectOption(ALLOCATED);
	assert.deepEqual((await drawn(page)).filter((each) => each.depth === 1).map((each) => [each.name, each.value]),
		rows.filter((each) => each.self > 0).map((each) => [each.name, each.self]));
});

test("tooltips, search and zoom are those of the metric", async (t) => {
	const page = await open(t, convert(t, HEAP));

	await (await frame(page, "build_list")).click();
	await menu(page).selectOption(ALLOCATED);
	assert.equal(await page.locator("#crumbs").textContent(), "all \u203a main \u203a build_list");
	await (await frame(page, "build_list")).hover();
	const tip = await page.locator("#tip div").allTextContents();

	assert.deepEqual(tip.slice(0, 3), ["build_list", "demo.c:24", "64,000 bytes (62.5 KiB) in 1,000 blocks"]);
	await menu(page).selectOption(BLOCKS);
	assert.equal((await searchFor(page, "=build_list")).result, "2 matches: 1,300, 96.9% of all");
});

test("m goes through the metrics and back to the first", async (t) => {
	const page = await open(t, convert(t, HEAP));
	const before = await drawn(page), count = await menu(page).locator("option").count();

	assert.ok(count > 5);
	for (let i = 1; i < count; i++) {
		await page.keyboard.press("m");
		assert.equal(await menu(page).evaluate((select) => select.value), String(i));
		assert.notDeepEqual(await texts(page), []);
	}
	await page.keyboard.press("m");
	assert.deepEqual(await drawn(page), before);
});

test("one metric alone has no menu", async (t) => {
	for (const svg of [convert(t, folded(t, NESTED)), convert(t, HEAP, "-M", "peak_bytes"),
		convert(t, golden("folded/diff.folded"))]) {
		const page = await open(t, svg);
		const before = await drawn(page);

		assert.equal(await menu(page).count(), 0);
		await page.keyboard.press("m");
		assert.deepEqual(await drawn(page), before);
	}
});

test("markup in names stays text in all metrics", async (t) => {
	const evil = "a\\tb</calls><img src=x onerror=alert(1)>";
	const dhat = readFileSync(HEAP, "utf8").replaceAll("build_list", evil);
	const page = await open(t, convert(t, file(t, "evil.json", dhat)));

	await menu(page).selectOption(ALLOCATED);
	assert.ok((await drawn(page)).some((each) => each.name.includes("b</calls><img src=x onerror=alert(1)>")));
	assert.equal(await page.locator("img").count(), 0);
});

/* Charts have no script. */
function chart(t, ...words) {
	const svg = join(folder(t), "chart.svg");

	allo(...words, golden("allo/server.allo"), "-o", svg);
	return svg;
}

const styleOf = (page, selector, property) => page.locator(selector).first()
	.evaluate((element, name) => getComputedStyle(element)[name], property);

for (const words of [["timeline"], ["timeline", "--by", "thread"], ["hist"]]) {
	test(`${words.join(" ")}: a chart looks like the flame graph, light and dark`, async (t) => {
		for (const colorScheme of ["light", "dark"]) {
			const page = await open(t, chart(t, ...words), { colorScheme });
			const flame = await open(t, convert(t, HEAP), { colorScheme });

			for (const selector of ["#page", "#title", "#subtitle", ".small"])
				for (const property of ["fill", "fontFamily", "fontSize", "fontWeight"])
					assert.equal(await styleOf(page, selector, property), await styleOf(flame, selector, property));
			assert.equal(await styleOf(page, ".g0", "fill"), await styleOf(flame, ".g0", "fill"));
		}
	});

	test(`${words.join(" ")}: texts of a chart stay within it, also at half its size`, async (t) => {
		for (const width of [960, 480]) {
			const page = await open(t, chart(t, ...words), { viewport: { width, height: 700 } });
			const over = await page.locator("text").evaluateAll((texts) => texts
				.filter((text) => text.id !== "subtitle" && getComputedStyle(text).display !== "none")
				.map((text) => [text.textContent, text.getBoundingClientRect()])
				.filter(([, box]) => box.left < 0 || box.right > document.documentElement.clientWidth)
				.map(([content]) => content));

			assert.deepEqual(over, []);
		}
	});
}

test("times of a small chart do not touch", async (t) => {
	const page = await open(t, chart(t, "timeline"), { viewport: { width: 480, height: 700 } });
	const boxes = await page.locator(".axis.middle, .axis.end:not([x='80'])").evaluateAll((texts) => texts
		.filter((text) => getComputedStyle(text).display !== "none").map((text) => text.getBoundingClientRect())
		.map(({ left, right }) => [left, right]));

	assert.ok(boxes.length > 2);
	for (let i = 1; i < boxes.length; i++)
		assert.ok(boxes[i - 1][1] + 4 < boxes[i][0], String(boxes));
});
