/*
 * flamegraph.js - makes the flame graph interactive: zoom, tooltips, search, keys.
 *
 * Runs inside the SVG file that allo wrote.  All data comes from the boxes: each rect has its numbers in
 * data-v, its short name in data-n, and its name, place and values in its title, one per line.  Boxes of
 * other metrics come from a list: see readMetric().
 */
(function () {
	"use strict";
	const ROW = 18, MARGIN = 12, BAR = 28, NAMED = 24;
	const svg = document.currentScript.parentNode;
	const graph = svg.getElementById("graph");
	const foot = svg.getElementById("foot");
	const labels = svg.getElementById("labels");
	const isComparison = svg.classList.contains("comparison");
	const list = svg.getElementById("metrics"); /* of other metrics, or null */
	let unit = svg.dataset.unit;
	let about = svg.dataset.about; /* prefix of estimates */

	/* Frames: callers before their callees, from left to right. */

	let frames = [];
	let rows = 1;

	function addFrame(box, index) {
		const lines = box.firstChild.textContent.split("\n");
		const numbers = box.dataset.v.split(" ");
		const frame = {
			box, index, lines, name: lines[0], label: box.dataset.n || lines[0],
			place: lines.length > 3 ? lines[1] : "",
			depth: box.getAttribute("y") / ROW,
			width: Number(numbers[0]),
			value: BigInt(numbers[isComparison ? 1 : 0]),
			before: BigInt(numbers[2] || 0),
			children: [], text: null,
			end: index, /* the last frame within it */
		};
		let parent = frames[index - 1];

		while (parent && parent.depth >= frame.depth)
			parent = parent.parent;
		frame.parent = parent || null;
		frame.start = parent ? parent.start + parent.used : 0;
		frame.used = 0;
		if (parent) {
			parent.used += frame.width;
			parent.children.push(frame);
		}
		rows = Math.max(rows, frame.depth + 1);
		box.firstChild.remove(); /* our tooltip replaces the title */
		box.frame = frame;
		frames.push(frame);
	}

	/* Sets the last frame within each. */
	function setEnds(list) {
		for (let i = list.length - 1; i > 0; i--)
			list[i].parent.end = Math.max(list[i].parent.end, list[i].end);
	}

	graph.querySelectorAll("rect").forEach(addFrame);
	setEnds(frames);
	labels.textContent = "";

	let root = frames[0];
	let zooms = [root]; /* each within the one before */
	const zoomed = () => zooms[zooms.length - 1];
	const isWithin = (frame, outer) => frame.index >= outer.index && frame.index <= outer.end;

	/* Numbers, as allo prints them. */

	function grouped(number) {
		return String(number).replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, ",");
	}

	function scaled(number, units, step) {
		let i = 0;

		for (number /= step; i < units.length - 1 && number >= step - 0.05; i++)
			number /= step;
		return number.toFixed(number < 9.995 ? 2 : 1) + " " + units[i];
	}

	function exactly(number) {
		const size = Math.abs(Number(number)), sign = number < 0 ? "\u2212" : "";

		if (unit === "bytes")
			return size < 1024 ? grouped(number) + " B"
				: sign + scaled(size, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], 1024);
		if (unit === "nanoseconds")
			return size < 1000 ? grouped(number) + " ns" : sign + scaled(size, ["us", "ms", "s"], 1000);
		return grouped(number);
	}

	const amount = (number) => about + exactly(number);

	function share(part, whole) {
		return Number(whole) ? (100 * Number(part) / Number(whole)).toFixed(1) + "%" : "\u2013";
	}

	/* Names that do not fit lose their front first: "...Vec::push", then "...push". */

	const pen = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d");
	const lengths = new Map();

	function lengthOf(text) {
		if (!lengths.has(text))
			lengths.set(text, pen.measureText(text).width);
		return lengths.get(text);
	}

	/* The starts of the parts of a name, without those in brackets. */
	function partsOf(name) {
		const starts = [];
		let depth = 0;

		for (let i = 0; i < name.length - 1; i++) {
			if ("<([{".includes(name[i]))
				depth++;
			else if (">)]}".includes(name[i]) && depth > 0)
				depth--;
			else if (depth === 0 && (name[i] === "/" || name[i] === "." || name.startsWith("::", i - 1)))
				starts.push(i + 1);
		}
		/* A number is not a name: Go numbers closures, compilers number copies. */
		while (starts.length && /^(func)?\d+$/.test(name.slice(starts[starts.length - 1])))
			starts.pop();
		return starts;
	}

	function cut(text, room) {
		let least = 0, most = text.length;

		if (lengthOf(text) <= room)
			return text;
		while (least < most) {
			const middle = (least + most + 1) >> 1;

			if (pen.measureText(text.slice(0, middle) + "\u2026").width <= room)
				least = middle;
			else
				most = middle - 1;
		}
		return least > 3 ? text.slice(0, least) + "\u2026" : "";
	}

	function fitting(text, room) {
		let shortest = text;

		if (lengthOf(text) <= room)
			return text;
		for (const start of partsOf(text)) {
			shortest = "\u2026" + text.slice(start);
			if (lengthOf(shortest) <= room)
				return shortest;
		}
		return cut(shortest, room);
	}

	/* Bottom-up: the functions that allocate come first, and their callers lie within them. */

	/* Metrics: the one that is drawn comes first. */
	const textOf = (id) => svg.getElementById(id).textContent;
	const metrics = [{
		menu: list ? list.dataset.menu : "", unit, about, topDown: frames, bottomUp: null, /* made when needed */
		title: textOf("title"), subtitle: textOf("subtitle"), remarks: foot.querySelector(".small").textContent,
	}];
	let metric = metrics[0], isInverted = false;

	/* "64,000 bytes (62.5 KiB)" */
	function inFull(number) {
		const text = grouped(number) + (unit && unit !== "count" ? " " + unit : "");

		return about + (unit === "bytes" && number >= 1024n || unit === "nanoseconds"
			? text + " (" + exactly(number) + ")" : text);
	}

	/* Memory of a frame's own, or of callees that were left out. */
	const ownOf = (frame) => frame.children.reduce((rest, child) => rest - child.value, frame.value);

	/* Lines of a function differ; its name and file do not. */
	const keyOf = (frame) => frame.name + "\n" + frame.place.replace(/:\d+( and other lines)?/, "");

	/* Groups the sources, each a frame with the value that came through it, by function. */
	function groupSources(sources) {
		const groups = new Map();

		for (const source of sources) {
			const key = keyOf(source.frame);

			if (!groups.has(key))
				groups.set(key, { first: source.frame, value: 0n, sources: [] });
			groups.get(key).value += source.value;
			groups.get(key).sources.push(source);
		}
		return [...groups.values()].sort((a, b) => (a.value < b.value) - (a.value > b.value));
	}

	function addBottomUp(list, group, parent) {
		const first = group.first, box = first.box.cloneNode(false);
		const frame = {
			box, index: list.length, name: first.name, label: first.label, place: first.place,
			lines: [first.name, ...(first.place ? [first.place] : []), inFull(group.value),
				share(group.value, parent ? list[0].value : group.value) + " of all"],
			depth: parent ? parent.depth + 1 : 0, width: Number(group.value), value: group.value, before: 0n,
			parent, children: [], text: null, end: list.length, used: 0,
			start: parent ? parent.start + parent.used : 0,
		};

		box.frame = frame;
		box.classList.toggle("own", !parent || parent.depth === 0);
		list.push(frame);
		if (parent) {
			parent.used += frame.width;
			parent.children.push(frame);
		}
		return frame;
	}

	/* Adds the callers of a frame's sources, as far as they can be seen. */
	function addCallers(list, frame, sources) {
		for (const group of groupSources(sources)) {
			if (Number(group.value) * 12000 < list[0].width)
				continue;
			addCallers(list, addBottomUp(list, group, frame), group.sources
				.map(({ frame, value }) => ({ frame: frame.parent, value }))
				.filter((caller) => caller.frame.parent));
		}
		frame.end = list.length - 1;
	}

	function makeBottomUp(topDown) {
		const all = topDown[0], list = [];
		const sources = topDown.slice(1).map((frame) => ({ frame, value: ownOf(frame) }))
			.filter((source) => source.value > 0n);

		addCallers(list, addBottomUp(list, { first: all, value: all.value }, null), sources);
		return list;
	}

	/* Shows the frames of the metric, in the order that is set. */
	function showFrames() {
		if (isInverted)
			metric.bottomUp = metric.bottomUp || makeBottomUp(metric.topDown);
		frames.forEach((frame) => { frame.text = null; });
		frames = isInverted ? metric.bottomUp : metric.topDown;
		root = frames[0];
		zooms = [root];
		labels.textContent = "";
		graph.replaceChildren(...frames.map((frame) => frame.box), labels);
	}

	function invert() {
		if (isComparison)
			return;
		isInverted = !isInverted;
		showFrames();
		hideTip();
		search();
		draw();
	}

	/* Other metrics. */

	/* A line of the list: name, label, place, classes. */
	function readCall(line) {
		const [name, label, place, classes] = line.split("\t");

		return { name, label: label || name, place, classes };
	}

	const calls = list ? list.querySelector("calls").textContent.split("\n").map(readCall) : [];

	function listFrame(frames, node) {
		const [depth, call, value, blocks] = node.replace("!", "").split(",");
		const { name, label, place, classes } = calls[call];
		const box = document.createElementNS(svg.namespaceURI, "rect");
		const frame = {
			box, index: frames.length, name, label, place, depth: Number(depth), width: Number(value),
			value: BigInt(value), before: 0n, children: [], text: null, end: frames.length, used: 0,
		};
		let parent = frames[frames.length - 1];

		while (parent && parent.depth >= frame.depth)
			parent = parent.parent;
		frame.parent = parent || null;
		frame.start = parent ? parent.start + parent.used : 0;
		if (parent) {
			parent.used += frame.width;
			parent.children.push(frame);
		}
		frame.lines = [name, ...(place ? [place] : []), inFull(frame.value) +
			(blocks ? " in " + about + grouped(blocks) + (blocks === "1" ? " block" : " blocks") : ""),
		share(frame.value, parent ? frames[0].value : frame.value) + " of all"];
		box.setAttribute("height", ROW - 1);
		box.setAttribute("class", classes + (node.endsWith("!") ? " own" : ""));
		box.frame = frame;
		frames.push(frame);
	}

	/* A node of the list: depth, number of the call, value and, for bytes, blocks; "!" if it allocates itself. */
	function readMetric(element) {
		const textIn = (name) => element.querySelector(name).textContent;

		metrics.push({
			menu: element.dataset.menu, unit: element.dataset.unit, about: element.dataset.about,
			title: textIn("title"), subtitle: textIn("desc"), remarks: textIn("remarks"), nodes: textIn("nodes"),
			topDown: null, bottomUp: null,
		});
	}

	if (list)
		list.querySelectorAll("metric").forEach(readMetric);

	/* Zooms to the same calls as before, as far as they are there. */
	function zoomAlong(way) {
		let frame = root;

		for (const key of way) {
			frame = frame.children.find((child) => keyOf(child) === key);
			if (!frame)
				return;
			zooms.push(frame);
		}
	}

	function wayTo(frame) {
		return frame.parent ? [...wayTo(frame.parent), keyOf(frame)] : [];
	}

	function setText(id, text) {
		lines.find(([element]) => id === "small" ? element.classList.contains(id) : element.id === id)[1] = text;
	}

	function choose(next) {
		const way = wayTo(zoomed());

		metric = next;
		({ unit, about } = metric);
		if (!metric.topDown) {
			metric.topDown = [];
			metric.nodes.split(" ").forEach((node) => listFrame(metric.topDown, node));
			setEnds(metric.topDown);
		}
		showFrames();
		zoomAlong(way);
		setText("title", metric.title);
		setText("subtitle", metric.subtitle);
		setText("small", metric.remarks);
		menu.value = metrics.indexOf(metric);
		setRows();
		hideTip();
		search();
		draw();
	}

	function chooseNext() {
		if (metrics.length > 1)
			choose(metrics[(metrics.indexOf(metric) + 1) % metrics.length]);
	}

	/* The picture is as high as the stacks of the metric are deep. */
	function setRows() {
		const before = rows;

		rows = metric.topDown.reduce((most, frame) => Math.max(most, frame.depth + 1), 1);
		height += (rows - before) * ROW;
		graph.setAttribute("height", rows * ROW);
		foot.setAttribute("y", Number(foot.getAttribute("y")) + (rows - before) * ROW);
	}

	/* In a comparison, text shows the change besides the colour. */
	function changeOf(frame) {
		if (!isComparison || frame.value === frame.before || !root.before)
			return "";
		if (frame.before === 0n || frame.value === 0n)
			return frame.value ? " new" : " gone";
		return (frame.value > frame.before ? " +" : " ") +
			share(frame.value - frame.before, frame.before).replace("-", "\u2212");
	}

	function labelOf(frame) {
		const change = changeOf(frame), room = frame.pixels - 9;
		const name = fitting(frame.label, room - lengthOf(change));

		return name ? name + change : fitting(frame.label, room);
	}

	/* Drawing. */

	let isFlipped = false, pixels = 0;

	function make(parent, name, attributes) {
		const element = document.createElementNS(
			name === "foreignObject" || name === "text" ? "http://www.w3.org/2000/svg"
				: "http://www.w3.org/1999/xhtml", name);

		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		parent.append(element);
		return element;
	}

	function percent(part) {
		return (100 * part).toFixed(4) + "%";
	}

	function placeFrame(frame) {
		const zoom = zoomed(), isAbove = frame !== zoom && isWithin(zoom, frame);
		const from = isAbove ? 0 : (frame.start - zoom.start) / zoom.width;
		const width = isAbove ? 1 : frame.width / zoom.width;
		const isShown = isAbove || (isWithin(frame, zoom) && width * pixels >= 0.3);
		const y = (isFlipped ? rows - 1 - frame.depth : frame.depth) * ROW;

		frame.pixels = isShown ? width * pixels : 0;
		frame.box.style.display = isShown ? "" : "none";
		if (isShown) {
			frame.box.setAttribute("x", percent(from));
			frame.box.setAttribute("y", y);
			frame.box.setAttribute("width", percent(width));
			frame.box.setAttribute("tabindex", frame.pixels < 3 ? -1 : 0);
			frame.box.classList.toggle("above", isAbove);
			frame.box.classList.toggle("thin", frame.pixels < 3);
		}
		placeLabel(frame, from, y);
	}

	function placeLabel(frame, from, y) {
		const text = frame.pixels >= NAMED ? labelOf(frame) : "";

		if (!text) {
			if (frame.text)
				frame.text.remove();
			frame.text = null;
			return;
		}
		frame.text = frame.text || make(labels, "text", { dx: 5, class: frame.box.classList[0] });
		frame.text.setAttribute("x", percent(from));
		frame.text.setAttribute("y", y + 12.5);
		frame.text.textContent = text;
	}

	/* Long lines end in three dots; the legend wraps to another line. */
	function drawTexts() {
		let x = 0, line = 0;

		for (const [text, whole] of lines)
			text.textContent = cut(whole, text.id === "title" ? (pixels - 305) / 1.5 : pixels);
		foot.querySelectorAll(".key").forEach((key) => {
			const width = lengthOf(key.nextElementSibling.textContent) + 34;

			if (x > 0 && x + width > pixels) {
				x = 0;
				line++;
			}
			key.setAttribute("x", MARGIN + x);
			key.setAttribute("y", 14 + line * ROW);
			key.nextElementSibling.setAttribute("x", MARGIN + x + 16);
			key.nextElementSibling.setAttribute("y", 14 + line * ROW);
			x += width;
		});
		foot.querySelectorAll(".small").forEach((text, i) => text.setAttribute("y", 34 + line * ROW + i * 16));
		svg.style.height = height + line * ROW + "px";
		foot.setAttribute("height", height);
	}

	function draw() {
		pixels = Math.max(svg.getBoundingClientRect().width - 2 * MARGIN, 100);
		pen.font = "12px " + getComputedStyle(svg).fontFamily;
		graph.setAttribute("width", pixels);
		bar.setAttribute("width", pixels);
		tools.setAttribute("x", pixels + MARGIN - 330);
		drawTexts();
		frames.forEach(placeFrame);
		drawCrumbs();
		svg.classList.add("moving");
		requestAnimationFrame(() => svg.classList.remove("moving"));
	}

	/* Zoom. */

	function zoomTo(frame) {
		while (zooms.length > 1 && !isWithin(frame, zoomed()))
			zooms.pop();
		if (frame !== zoomed())
			zooms.push(frame);
		hideTip();
		draw();
	}

	function zoomOut() {
		if (zooms.length > 1)
			zooms.pop();
		hideTip();
		draw();
	}

	/* The path to the zoomed frame: the outermost callers and the last few. */
	function drawCrumbs() {
		const way = [];

		for (let frame = zoomed(); frame; frame = frame.parent)
			way.unshift(frame);
		crumbs.textContent = "";
		if (way.length === 1) {
			crumbs.textContent = "Click a frame to zoom in. Press / to search, ? for all keys.";
			return;
		}
		const first = Math.max(way.length - 4, 1);

		[root, ...way.slice(first)].forEach((frame, i) => {
			if (i > 0)
				crumbs.append(i === 1 && first > 1 ? " \u203a \u2026 \u203a " : " \u203a ");
			if (frame === zoomed())
				make(crumbs, "b", {}).textContent = frame.label;
			else
				make(crumbs, "button", { type: "button" }).textContent = frame.label;
			crumbs.lastChild.onclick = () => zoomTo(frame);
		});
	}

	/* Tooltips. */

	function sharesOf(frame) {
		const zoom = zoomed();

		if (isComparison)
			return frame.lines[frame.lines.length - 1];
		return share(frame.value, root.value) + " of all" + (zoom === root || !isWithin(frame, zoom) ? ""
			: ", " + share(frame.value, zoom.value) + " of " + fitting(zoom.label, 260));
	}

	function showTip(frame, x, y) {
		tip.textContent = "";
		make(make(tip, "div", {}), "b", {}).textContent = frame.name;
		if (frame.place)
			make(tip, "div", { class: "place" }).textContent = frame.place;
		make(tip, "div", {}).textContent = frame.lines[frame.lines.length - 2];
		make(tip, "div", {}).textContent = sharesOf(frame);
		tip.style.display = "";
		tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 6)) + scrollX + "px";
		tip.style.top = (y + 18 + tip.offsetHeight < innerHeight ? y + 18
			: Math.max(4, y - tip.offsetHeight - 10)) + scrollY + "px";
	}

	function hideTip() {
		tip.style.display = "none";
	}

	/* Search: text anywhere, =text for a whole name, /regex/ or /regex/i; upper case counts if used. */

	function matcher(text) {
		const regex = /^\/(.*)\/(i?)$/.exec(text);

		if (regex) {
			const expression = new RegExp(regex[1], regex[2]);

			return (name) => expression.test(name);
		}
		if (text.startsWith("="))
			return (name) => name === text.slice(1);
		if (text !== text.toLowerCase())
			return (name) => name.includes(text);
		return (name) => name.toLowerCase().includes(text);
	}

	/* Marks the matches; a match inside another one does not count again. */
	function search() {
		const text = input.value;
		let matches = null, count = 0, sum = 0n, before = 0n, counted = -1;

		try {
			matches = text ? matcher(text) : null;
			input.classList.remove("wrong");
		} catch (error) {
			input.classList.add("wrong");
		}
		svg.classList.toggle("searching", matches !== null);
		for (const frame of frames) {
			const isFound = matches !== null && frame !== root &&
				(matches(frame.name) || matches(frame.label) || matches(frame.place));

			frame.box.classList.toggle("found", isFound);
			count += isFound;
			if (isFound && frame.index > counted) {
				counted = frame.end;
				sum += frame.value;
				before += frame.before;
			}
		}
		result.textContent = matches === null ? "" : count === 0 ? "no match"
			: grouped(count) + (count === 1 ? " match: " : " matches: ") +
			(root.before ? amount(before) + " before, " + amount(sum) + " after"
				: amount(sum) + ", " + share(sum, root.value) + " of all");
	}

	function openSearch() {
		svg.classList.add("searchable");
		input.focus();
		input.select();
	}

	function closeSearch() {
		input.value = "";
		search();
		input.blur();
		svg.classList.remove("searchable");
	}

	/* Keys. */

	const focused = () => document.activeElement && document.activeElement.frame;

	function focus(frame) {
		if (!frame)
			return;
		frame.box.setAttribute("aria-label", frame.lines.join(", "));
		frame.box.focus({ preventScroll: true });
		frame.box.scrollIntoView({ block: "nearest" });

		const area = frame.box.getBoundingClientRect();

		showTip(frame, Math.max(area.left, 0), area.bottom - 12);
	}

	function beside(frame, step) {
		let i = frame.index + step;

		while (frames[i] && !(frames[i].depth === frame.depth && frames[i].pixels > 0))
			i += step;
		return frames[i];
	}

	function move(key) {
		const frame = focused();
		const inward = isFlipped ? "ArrowUp" : "ArrowDown";

		if (!frame)
			focus(zoomed());
		else if (key === "ArrowLeft" || key === "ArrowRight")
			focus(beside(frame, key === "ArrowLeft" ? -1 : 1));
		else if (key === inward)
			focus(frame.children.find((child) => child.pixels > 0));
		else
			focus(frame.parent);
	}

	function flip() {
		isFlipped = !isFlipped;
		hideTip();
		draw();
		scrollTo(0, isFlipped ? svg.getBoundingClientRect().height : 0);
	}

	function toggleKeys() {
		keys.style.display = keys.style.display === "none" ? "" : "none";
		keys.style.left = Math.max((innerWidth - keys.offsetWidth) / 2, 0) + scrollX + "px";
		keys.style.top = Math.max((innerHeight - keys.offsetHeight) / 3, 0) + scrollY + "px";
	}

	function escape() {
		if (keys.style.display !== "none")
			toggleKeys();
		else if (svg.classList.contains("searchable"))
			closeSearch();
		else
			zoomOut();
	}

	function pressed(event) {
		const key = event.key, isTyping = event.target === input;

		if ((event.ctrlKey || event.metaKey) && key === "f")
			openSearch();
		else if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		else if (key === "Escape")
			escape();
		else if (isTyping || (event.target === menu && /^(Arrow|Enter|Home|End|Page| )/.test(key)))
			return;
		else if (key === "/")
			openSearch();
		else if (key === "?")
			toggleKeys();
		else if (key === "i")
			flip();
		else if (key === "b")
			invert();
		else if (key === "m")
			chooseNext();
		else if (key === "Backspace")
			zoomOut();
		else if (key === "Enter" && focused())
			zoomTo(focused());
		else if (key.startsWith("Arrow"))
			move(key);
		else
			return;
		event.preventDefault();
	}

	/* Parts that exist only with the script. */

	const lines = [...svg.querySelectorAll("#title, #subtitle, .small")].map((text) => [text, text.textContent]);
	let height = Number(svg.getAttribute("height")) + BAR;
	const tools = make(svg, "foreignObject", { y: 0, width: 330, height: 1, class: "ui" });
	const bar = make(svg, "foreignObject", { x: MARGIN, y: 58, height: BAR, class: "ui" });
	const over = make(svg, "foreignObject", { width: 1, height: 1, class: "ui" });
	const tip = make(over, "div", { id: "tip", role: "status", style: "display: none" });
	const keys = make(over, "div", { id: "keys", style: "display: none" });
	const menu = metrics.length > 1 ? make(make(bar, "div", { id: "bar" }), "select", { "aria-label": "metric" }) : null;
	const crumbs = make(bar.firstChild || make(bar, "div", { id: "bar" }), "div", { id: "crumbs" });
	const form = make(bar.firstChild, "div", { id: "search" });
	const result = make(form, "span", { id: "result", role: "status" });
	const input = make(form, "input", {
		type: "text", placeholder: "text, =name or /regex/", "aria-label": "search", spellcheck: "false",
	});

	function addTool(name, hint, action) {
		const button = make(tools.firstChild || make(tools, "div", { id: "tools" }), "button",
			{ type: "button", title: hint });

		button.textContent = name;
		button.onclick = action;
	}

	addTool("Search", "Ctrl-F or /", openSearch);
	addTool("Flip", "i", flip);
	if (!isComparison)
		addTool("Bottom-up", "b", invert);
	addTool("Reset", "Escape", () => { closeSearch(); zoomTo(root); });
	addTool("?", "keys", toggleKeys);
	for (const [key, what] of [
		["click, Enter", "zoom into a frame"], ["Escape, Backspace", "zoom out"],
		["arrows, Tab", "go from frame to frame"], ["/, Ctrl-F", "search: text, =name, /regex/"],
		["i", "flip: callers at the top or at the bottom"],
		["b", "bottom-up: functions that allocate first, then their callers"],
		...(menu ? [["m", "the next metric"]] : []), ["?", "show or hide this"],
	]) {
		const row = make(keys.firstChild || make(keys, "table", {}), "tr", {});

		make(row, "td", {}).textContent = key;
		make(row, "td", {}).textContent = what;
	}

	graph.addEventListener("click", (event) => event.target.frame && zoomTo(event.target.frame));
	graph.addEventListener("mousemove", (event) => {
		if (event.target.frame)
			showTip(event.target.frame, event.clientX, event.clientY);
		else
			hideTip();
	});
	graph.addEventListener("mouseleave", hideTip);
	graph.addEventListener("focusout", hideTip);
	graph.addEventListener("keyup", (event) => event.key === "Tab" && focused() && focus(focused()));
	input.addEventListener("input", search);
	metrics.forEach((each, i) => {
		if (menu)
			make(menu, "option", { value: i }).textContent = each.menu;
	});
	if (menu)
		menu.addEventListener("change", () => choose(metrics[menu.value]));
	addEventListener("keydown", pressed);
	addEventListener("resize", draw);

	graph.setAttribute("tabindex", -1); /* Tab selects frames, not the graph */
	svg.removeAttribute("viewBox");
	svg.setAttribute("width", "100%");
	graph.setAttribute("y", Number(graph.getAttribute("y")) + BAR - 6);
	foot.setAttribute("y", Number(foot.getAttribute("y")) + BAR - 6);
	draw();
	svg.classList.toggle("smooth", frames.length < 3000);
})();
