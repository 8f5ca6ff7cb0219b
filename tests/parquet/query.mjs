// Queries by an engine on a folder that allo wrote, after the SQL for the engine in it.
// usage: node query.mjs duckdb|clickhouse FOLDER BYTES SECONDS < QUERIES
// QUERIES is a JSON list; prints a list with, for each, a list of rows or the text of an error; integers are texts.
// A query may use BYTES of memory, none on the disk, and take SECONDS.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [engine, folder, bytes, seconds] = process.argv.slice(2);
const queries = JSON.parse(readFileSync(0, "utf8")); // at once: chDB takes what is left in standard input for rows

const engines = {
	async duckdb(script) {
		const { DuckDBInstance } = await import("@duckdb/node-api");
		const instance = await DuckDBInstance.create(":memory:", { memory_limit: `${bytes}B`, max_temp_directory_size: "0B" });
		const connection = await instance.connect();

		await connection.run(script);
		return async (query) => {
			const timer = setTimeout(() => connection.interrupt(), seconds * 1000);

			try {
				return (await connection.runAndReadAll(query)).getRows();
			} finally {
				clearTimeout(timer);
			}
		};
	},
	// ClickHouse's engine as a library.
	async clickhouse(script) {
		const { default: { Session } } = await import("chdb");
		const session = new Session();

		session.query(`set max_memory_usage = ${bytes}, max_execution_time = ${seconds},
			output_format_json_quote_64bit_integers = 1`);
		session.query(script);
		return async (query) => JSON.parse(session.query(query, "JSONCompact")).data;
	},
};

const ask = await engines[engine](readFileSync(join(folder, `${engine}.sql`), "utf8"));
const answers = [];

for (const query of queries) {
	try {
		answers.push((await ask(query)).map((row) => row.map((value) => typeof value === "bigint" ? String(value) : value)));
	} catch (error) {
		answers.push(error.message);
	}
}
writeFileSync(1, JSON.stringify(answers) + "\n");
process.exit(0); // a query that was interrupted may still run
