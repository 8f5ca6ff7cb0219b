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
		for (const fill of [
			...palette.modules.flatMap(shadesOf),
			...palette.kinds,
			...palette.ages,
			...palette.changes,
		])
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

/* How eyes without one kind of cone see linear RGB (Vienot, Brettel and Mollon 1999). */
const EYES = {
	protan: [
		[0.11238, 0.88762, 0],
		[0.11238, 0.88762, 0],
		[0.00401, -0.00401, 1],
	],
	deutan: [
		[0.29275, 0.70725, 0],
		[0.29275, 0.70725, 0],
		[-0.02234, 0.02234, 1],
	],
};

function linear(colour: string): number[] {
	return [1, 3, 5].map((at) => {
		const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
		return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	});
}

/* CIE Lab of linear RGB: equal distances look equally different. */
function lab([r, g, b]: number[]): number[] {
	const f = (value: number) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
	const x = f((0.4124 * r! + 0.3576 * g! + 0.1805 * b!) / 0.9505);
	const y = f(0.2126 * r! + 0.7152 * g! + 0.0722 * b!);
	const z = f((0.0193 * r! + 0.1192 * g! + 0.9505 * b!) / 1.089);
	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function distance(a: string, b: string, eyes: number[][]): number {
	const [one, two] = [a, b].map((colour) => {
		const rgb = linear(colour);
		return lab(eyes.map((row) => row.reduce((sum, weight, i) => sum + weight * rgb[i]!, 0)));
	});
	return Math.hypot(...one!.map((value, i) => value - two![i]!));
}

const LEAST_DISTANCE = 20; /* colours that differ by 2 can be told apart side by side */

for (const [name, palette] of Object.entries(PALETTES))
	for (const [kind, eyes] of Object.entries(EYES))
		test(`${name}: growth and shrinkage differ for ${kind} eyes`, () => {
			const [shrank, same, grew] = [0, 3, 6].map((step) => palette.changes[step]!);
			for (const [a, b] of [
				[shrank, grew],
				[shrank, same],
				[same, grew],
			] as const)
				assert.ok(distance(a!, b!, eyes) > LEAST_DISTANCE, `${a} and ${b}`);
		});
