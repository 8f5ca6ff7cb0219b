/* gunzip.ts - gzip, unpacked by the browser. */
export async function gunzip(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}
