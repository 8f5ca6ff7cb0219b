// All rows of Parquet files, by one of several readers.
// usage: node dump.mjs READER OUT FOLDER...     writes {FOLDER: {TABLE: [ROW, ...]}} to OUT as JSON; integers are texts
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const plain = (value) =>
	value === undefined || value === null ? null
	: typeof value === "bigint" || Number.isSafeInteger(value) ? String(value)
	: value;

const readers = {
	async duckdb() {
		const { DuckDBInstance } = await import("@duckdb/node-api");
		const connection = await (await DuckDBInstance.create(":memory:", { memory_limit: "1GB" })).connect();

		return async (path) => {
			const found = await connection.runAndReadAll(`from '${path.replaceAll("'", "''")}'`);

			return found.getRows();
		};
	},
	async hyparquet() {
		const { parquetMetadata, parquetReadObjects } = await import("hyparquet");
		const { compressors } = await import("hyparquet-compressors");

		return async (path) => {
			const bytes = readFileSync(path);
			const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
			const names = parquetMetadata(file).schema.slice(1).map((column) => column.name);
			const rows = await parquetReadObjects({ file, compressors });

			return rows.map((row) => names.map((name) => row[name]));
		};
	},
	async "parquet-wasm"() {
		const parquet = await import("parquet-wasm/node");
		const arrow = await import("apache-arrow");

		return async (path) => {
			const table = arrow.tableFromIPC(parquet.readParquet(readFileSync(path)).intoIPCStream());
			const columns = table.schema.fields.map((field, index) => table.getChildAt(index));

			return Array.from({ length: table.numRows }, (_, row) => columns.map((column) => column.get(row)));
		};
	},
};

const [reader, out, ...folders] = process.argv.slice(2);
const read = await readers[reader]();
const found = {};

for (const folder of folders) {
	found[folder] = {};
	for (const name of readdirSync(folder).filter((file) => file.endsWith(".parquet"))) {
		const rows = await read(join(folder, name));

		found[folder][basename(name, ".parquet")] = rows.map((row) => row.map(plain));
	}
}
writeFileSync(out, JSON.stringify(found));
