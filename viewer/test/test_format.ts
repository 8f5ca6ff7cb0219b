/* test_format.ts - numbers and names as text. */
import assert from "node:assert/strict";
import test from "node:test";
import { elide, foldTemplates } from "../src/elide.ts";
import {
	formatBytes,
	formatChange,
	formatCount,
	formatFactor,
	formatMoment,
	formatNs,
	formatShare,
	formatValue,
	readTime,
	writeTime,
} from "../src/format.ts";

/* The right column is the output of src/base/units.c. */
test("numbers look as in the terminal", () => {
	for (const [bytes, text] of [
		[0, "0 B"],
		[999, "999 B"],
		[1023, "1,023 B"],
		[1024, "1.00 KiB"],
		[10234, "9.99 KiB"],
		[10240, "10.0 KiB"],
		[1048524, "1023.9 KiB"],
		[1048575, "1.00 MiB"],
		[34567890, "33.0 MiB"],
		[2 ** 50, "1.00 PiB"],
	] as const)
		assert.equal(formatBytes(bytes), text);
	assert.equal(formatCount(1234567), "1,234,567");
	assert.equal(formatCount(999), "999");
	assert.equal(formatNs(999), "999 ns");
	assert.equal(formatNs(1500), "1.50 us");
	assert.equal(formatNs(999_960), "1.00 ms");
	assert.equal(formatNs(83e9), "83.0 s");
	assert.equal(formatNs(27_621.2e9), "27621.2 s");
	assert.equal(formatValue(27_621.2e9, "ns"), "7 h 40 min");
	assert.equal(formatShare(1, 3), "33.3%");
	assert.equal(formatShare(0, 0), "-");
	assert.equal(formatValue(3, "samples"), "3 samples");
});

test("changes have a sign and an arrow", () => {
	assert.equal(formatChange(2048, "bytes"), "\u25b2 +2.00 KiB");
	assert.equal(formatChange(-2048, "bytes"), "\u25bc \u22122.00 KiB");
	assert.equal(formatChange(0, "bytes"), "0 B");
	assert.equal(formatFactor(150, 100), "+50.0%");
	assert.equal(formatFactor(50, 100), "\u221250.0%");
	assert.equal(formatFactor(5, 0), "new");
	assert.equal(formatFactor(0, 5), "gone");
});

test("times in URLs are exact to the nanosecond", () => {
	for (const ns of [0, 1, 999_999_999, 1e9, 2_100_000_000, 8_999_999_999_999_999])
		assert.equal(readTime(writeTime(ns)), ns);
	assert.equal(writeTime(2_100_000_000), "2.1s");
	assert.equal(readTime("12345"), 12345);
	for (const text of ["", "s", "-1s", "1.s", "1.2", "1e3s", "0x1"])
		assert.equal(readTime(text), undefined, text);
});

test("moments have as many digits as their axis needs", () => {
	assert.equal(formatMoment(2e9, 1e9), "2 s");
	assert.equal(formatMoment(2.25e9, 5e7), "2.25 s");
	assert.equal(formatMoment(250_000, 50_000), "0.25 ms");
	assert.equal(formatMoment(1500, 500), "1.5 us");
});

test("template arguments are folded, operators are not", () => {
	assert.equal(foldTemplates("std::vector<std::pair<a, b>>::push_back"), "std::vector<\u2026>::push_back");
	assert.equal(foldTemplates("a::operator<<"), "a::operator<<");
	assert.equal(foldTemplates("a<b>::operator->"), "a<\u2026>::operator->");
	assert.equal(foldTemplates("broken<a"), "broken<a");
});

test("a long name keeps its method", () => {
	const name = "net::http::Connection::read";

	assert.equal(elide(name, 27), name);
	assert.equal(elide(name, 20), "\u2026::Connection::read");
	assert.equal(elide(name, 12), "\u2026::read");
	assert.equal(elide(name, 4), "rea\u2026");
	assert.equal(elide(name, 2), "");
	assert.equal(elide("std::vector<std::pair<int, long>>::push_back", 26), "std::vector<\u2026>::push_back");
	assert.equal(elide("parse(ns::type)", 10), "parse(ns:\u2026");
	for (let room = 3; room < 50; room++)
		assert.ok(elide("a/b/c::d<e<f>>::g(h::i)".repeat(2), room).length <= room);
});
