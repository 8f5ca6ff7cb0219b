/* use_size.ts - the size of an element, and a canvas that follows it in device pixels. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface Size {
	width: number;
	height: number;
}

export function useSize(element: RefObject<HTMLElement | null>): Size {
	const [size, setSize] = useState<Size>({ width: 0, height: 0 });

	useLayoutEffect(() => {
		const target = element.current;
		if (!target) return;
		const measure = () => {
			const { clientWidth: width, clientHeight: height } = target;
			setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
		};
		const observer = new ResizeObserver(measure);
		observer.observe(target);
		measure();
		return () => observer.disconnect();
	}, []);
	return size;
}

/* Sets the canvas to a size in CSS pixels.  Returns device pixels per CSS pixel. */
export function fitCanvas(canvas: HTMLCanvasElement, { width, height }: Size): number {
	const ratio = devicePixelRatio || 1;
	const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];

	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	return ratio;
}
