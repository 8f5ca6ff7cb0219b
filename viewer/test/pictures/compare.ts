/*
 * compare.ts - how much two pictures differ, in a browser, which decodes them.
 *
 * Both are made eight times smaller: a part that moves or vanishes remains, other fonts and smoother edges do not.
 */
import type { Page } from "playwright-core";

const SCALE = 8;
const NOTICED = 40; /* of 255: difference of a small pixel */

/* Share of pixels that differ.  Pictures are data URLs. */
export function difference(page: Page, a: string, b: string): Promise<number> {
	return page.evaluate(
		async ({ urls, scale, noticed }) => {
			const images = await Promise.all(
				urls.map(async (url) => {
					const image = new Image();
					image.src = url;
					await image.decode();
					return image;
				}),
			);
			const largest = images.reduce((x, y) => (x.width > y.width ? x : y));
			const [width, height] = [Math.round(largest.width / scale), Math.round(largest.height / scale)];
			const [one, two] = images.map((image) => {
				const g = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d")!;
				g.imageSmoothingQuality = "high";
				g.drawImage(image, 0, 0, width, height);
				return g.getImageData(0, 0, width, height).data;
			});
			let count = 0;
			for (let i = 0; i < one!.length; i += 4) {
				const channels = [0, 1, 2].map((channel) => Math.abs(one![i + channel]! - two![i + channel]!));
				if (Math.max(...channels) > noticed) count++;
			}
			return count / (width * height);
		},
		{ urls: [a, b], scale: SCALE, noticed: NOTICED },
	);
}

/* A picture of half the size, as WebP. */
export function halved(page: Page, url: string): Promise<string> {
	return page.evaluate(async (source) => {
		const image = new Image();
		image.src = source;
		await image.decode();
		const [width, height] = [image.width / 2, image.height / 2];
		const canvas = Object.assign(document.createElement("canvas"), { width, height });
		const g = canvas.getContext("2d")!;
		g.imageSmoothingQuality = "high";
		g.drawImage(image, 0, 0, width, height);
		return canvas.toDataURL("image/webp", 0.75);
	}, url);
}
