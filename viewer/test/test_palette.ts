/* test_palette.ts - colours can be read: contrast of at least 4.5, as WCAG asks for. */
import assert from "node:assert/strict";
import test from "node:test";
import { PALETTES, shadesOf } from "../src/palette.ts";

function luminance(colour: string): number {
	const [r, g, b] = [1, 3, 5].map((at) => {
		const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
		return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
	const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
	return (high! + 0.05) / (low! + 0.05);
}

test("black on white has the contrast 21", () => {
	assert.equal(Math.round(contrast("#000000", "#ffffff")), 21);
});

for (const [name, palette] of Object.entries(PALETTES)) {
	test(`${name}: text is readable on every box`, () => {
		for (const fill of [...palette.modules.flatMap(shadesOf), ...palette.kinds, ...palette.changes])
			assert.ok(contrast(palette.text, fill) >= 4.5, `${palette.text} on ${fill}`);
	});

	test(`${name}: labels are readable on the background`, () => {
		for (const colour of [palette.muted, palette.resident, palette.peak, palette.bandLine])
			assert.ok(contrast(colour, palette.background) >= 4.5, `${colour} on ${palette.background}`);
	});

	test(`${name}: no two modules look the same`, () => {
		assert.equal(new Set(palette.modules).size, palette.modules.length);
	});
}
