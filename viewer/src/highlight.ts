/*
 * highlight.ts - comments, texts, numbers and keywords in a line of source.
 *
 * It knows just enough of C, C++, Rust, Python, JavaScript and Go to make lines easy to read; other languages stay plain.
 */
export interface Token {
	text: string;
	kind: "" | "comment" | "string" | "number" | "keyword";
}

const KEYWORDS =
	"alignas alignof auto bool break case catch char class const constexpr continue decltype default delete do double " +
	"else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept " +
	"nullptr operator override private protected public register return short signed sizeof static static_assert struct " +
	"switch template this throw true try typedef typename union unsigned using virtual void volatile while " +
	"as async await crate dyn fn impl in let loop match mod move mut pub ref self Self super trait type unsafe use where " +
	"and assert def del elif except finally from global import is lambda None nonlocal not or pass raise True False with yield " +
	"chan defer fallthrough func go interface map package range select var function null of undefined";

const WORDS = new Set(KEYWORDS.split(" "));

interface Language {
	line: string; // begins a comment up to the end of the line
	hasBlocks: boolean; // has comments that end with an asterisk and a slash
	token: RegExp;
}

const C_LIKE =
	/\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|inl|ipp|tcc|rs|go|js|mjs|ts|tsx|jsx|java|cu|m|mm|d|zig|swift|y|l)$/i;

/* Between single quotes: one character, since Rust's lifetimes have no second quote; in Python a text. */
const C_TOKEN = /"(?:\\.|[^"\\])*"?|'(?:\\[^']{1,10}|[^'\\])'|\d[\w.]*|[A-Za-z_]\w*/y;
const PYTHON_TOKEN = /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\d[\w.]*|[A-Za-z_]\w*/y;

/* By the name of a file; undefined: plain text. */
export function languageOf(path: string): Language | undefined {
	if (C_LIKE.test(path) || /\/c\+\+\/|\/bits\//.test(path))
		return { line: "//", hasBlocks: true, token: C_TOKEN };
	return /\.pyx?$/i.test(path) ? { line: "#", hasBlocks: false, token: PYTHON_TOKEN } : undefined;
}

function kindOf(text: string): Token["kind"] {
	const first = text[0]!;

	if (first === '"' || first === "'") return "string";
	if (/\d/.test(first)) return "number";
	return WORDS.has(text) ? "keyword" : "";
}

/* The tokens of a line.  `isInside`: it begins in a comment.  The second result is that of the next line. */
export function tokensOf(line: string, language: Language, isInside: boolean): [Token[], boolean] {
	const tokens: Token[] = [];
	let at = 0;
	let isComment = isInside;
	const add = (end: number, kind: Token["kind"]) => {
		const last = tokens.at(-1);
		if (last?.kind === kind) last.text += line.slice(at, end);
		else if (end > at) tokens.push({ text: line.slice(at, end), kind });
		at = end;
	};

	while (at < line.length) {
		if (isComment) {
			const end = line.indexOf("*/", at);
			isComment = end < 0;
			add(end < 0 ? line.length : end + 2, "comment");
		} else if (line.startsWith(language.line, at)) add(line.length, "comment");
		else if (language.hasBlocks && line.startsWith("/*", at)) {
			add(at + 2, "comment");
			isComment = true;
		} else {
			language.token.lastIndex = at;
			const text = language.token.exec(line)?.[0];
			add(at + (text?.length ?? 1), text ? kindOf(text) : "");
		}
	}
	return [tokens, isComment];
}

const LONGEST = 2000; /* characters; longer lines are data */

/* By line, whether it begins in a comment. */
export function commentStarts(count: number, text: (row: number) => string, language: Language): Uint8Array {
	const starts = new Uint8Array(count);
	let isInside = false;

	for (let row = 0; row < count; row++) {
		starts[row] = isInside ? 1 : 0;
		const line = text(row);
		if (isInside || (language.hasBlocks && line.includes("/*")))
			isInside = tokensOf(line.slice(0, LONGEST), language, isInside)[1];
	}
	return starts;
}
