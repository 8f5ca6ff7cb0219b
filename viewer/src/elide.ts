/* elide.ts - long function names cut in the middle, so that the method at the end stays readable. */

const DOTS = "\u2026";

/* "std::vector<std::pair<a, b>>::push_back" becomes "std::vector<\u2026>::push_back"; operators keep their signs. */
export function foldTemplates(name: string): string {
	let out = "";
	let depth = 0;

	for (const c of name) {
		const isBracket = (c === "<" || c === ">") && !(depth === 0 && /operator[-<>=]*$/.test(out));
		if (isBracket && c === "<") {
			if (depth === 0) out += `<${DOTS}>`;
			depth++;
		} else if (isBracket && depth > 0) depth--;
		else if (depth === 0) out += c;
	}
	return depth === 0 ? out : name;
}

/* The parts of a qualified name, each with the separator before it: "a::b/c(d::e)" is "a", "::b", "/c(d::e)". */
function partsOf(name: string): string[] {
	const parameters = name.indexOf("(", 1);
	const end = parameters < 0 ? name.length : parameters;
	const parts = name.slice(0, end).split(/(?=::|\/)/);

	parts[parts.length - 1] += name.slice(end);
	return parts;
}

/* At most `room` characters of a name; "" if nothing useful fits. */
export function elide(name: string, room: number): string {
	if (name.length <= room) return name;
	if (room < 3) return "";
	const folded = name.includes("<") ? foldTemplates(name) : name;
	if (folded.length <= room) return folded;
	const parts = partsOf(folded);
	let tail = parts.pop()!;
	if (tail.length + 1 > room) return tail.replace(/^(::|\/)/, "").slice(0, room - 1) + DOTS;
	while (parts.length > 0 && parts[parts.length - 1]!.length + tail.length + 1 <= room)
		tail = parts.pop()! + tail;
	return DOTS + tail;
}
