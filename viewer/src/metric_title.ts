/* metric_title.ts - metrics by their names: "peak_bytes" is "Peak bytes". */

export function metricTitle(name: string): string {
	const words = name.replace(/_/g, " ").replace(/^alloc\b/, "allocated");

	return words.charAt(0).toUpperCase() + words.slice(1);
}
