// CPU seconds of DuckDB on one thread, as JSON: to copy the allocations from memory to Parquet, and for a report on the views.
// usage: node duckdb.mjs FOLDER OUT REPORT-FILE
import { readFileSync, statSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const [folder, out, report] = process.argv.slice(2);
const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();

const seconds = async (sql) => {
	const before = process.cpuUsage();

	await connection.runAndReadAll(sql);
	const { user, system } = process.cpuUsage(before);

	return (user + system) / 1e6;
};

await connection.run(readFileSync(`${folder}/duckdb.sql`, "utf8"));
const query = readFileSync(report, "utf8");
const reports = [await seconds(query), await seconds(query), await seconds(query)];

await connection.run("create table copied as from allocation");
const copy = `copy copied to '${out}' (format parquet, compression zstd)`;
const copies = [await seconds(copy), await seconds(copy), await seconds(copy)];

console.log(JSON.stringify({ copy: Math.min(...copies), bytes: statSync(out).size, report: Math.min(...reports) }));
