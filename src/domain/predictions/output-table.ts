/** An output as a table, where it is one: rows of records, of lists, or the vectors of embeddings. */
import { closedJson } from "../../lib/closed-json.ts";
import { csvLine } from "../../lib/csv.ts";
import type { Json } from "../../protocol/common.ts";

type Cell = string | number | boolean | null;

const isCell = (value: Json): value is Cell => typeof value !== "object" || value === null;

const isRecord = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Records that each have other fields would be a table of nothing but gaps. */
const MAX_CELLS = 500_000;

/** @returns rows, of which the first may name the columns; undefined for what is no table */
export function tableOf(output: Json): Cell[][] | undefined {
  const only = Array.isArray(output) && output.length === 1 ? output[0] : undefined;
  return (only === undefined ? undefined : rowsOf(only)) ?? rowsOf(output);
}

/** Of the vectors that the table of an output is of; undefined where it is of anything else. */
export function dimensionOf(output: Json): number | undefined {
  const [first, ...others] = tableOf(output) ?? [];
  if (!first?.every((cell) => typeof cell === "number")) return undefined;
  return others.every(({ length }) => length === first.length) ? first.length : undefined;
}

/** What is whole of an output, by the beginning of its JSON text. */
export function beginningOf(json: string): Json | undefined {
  const closed = closedJson(json);
  return closed === undefined ? undefined : JSON.parse(closed);
}

function rowsOf(output: Json): Cell[][] | undefined {
  if (isRecord(output)) return embeddingsIn(output) ?? tableOfRecords([output]);
  if (!Array.isArray(output) || output.length === 0) return undefined;
  if (output.every((row) => typeof row === "number")) return output.map((cell) => [cell]);
  if (output.every((row) => Array.isArray(row) && row.length > 0 && row.every(isCell)))
    return output.map((row) => (Array.isArray(row) ? row.filter(isCell) : []));
  return output.every(isRecord) ? tableOfRecords(output.filter(isRecord)) : undefined;
}

function tableOfRecords(records: { [key: string]: Json }[]): Cell[][] | undefined {
  if (!records.every((record) => Object.values(record).every(isCell))) return undefined;
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  if (names.length === 0 || names.length * records.length > MAX_CELLS) return undefined;
  const cell = (record: { [key: string]: Json }, name: string): Cell => {
    const value = record[name] ?? null;
    return isCell(value) ? value : null;
  };
  return [names, ...records.map((record) => names.map((name) => cell(record, name)))];
}

/** As OpenAI's API answers: `{data: [{index, embedding}]}`. */
function embeddingsIn({ data }: { [key: string]: Json }): Cell[][] | undefined {
  if (!Array.isArray(data) || data.length === 0) return undefined;
  const vectors = data.map((one) => (isRecord(one) ? one.embedding : undefined));
  const rows = vectors.flatMap((vector) =>
    Array.isArray(vector) && vector.every(isCell) ? [vector.filter(isCell)] : [],
  );
  return rows.length === data.length ? rows : undefined;
}

export const csvOf = (rows: Cell[][]): string =>
  rows.map((row) => csvLine(row.map((cell) => cellOf(cell)))).join("");

const cellOf = (cell: Cell) => (typeof cell === "boolean" ? String(cell) : (cell ?? ""));
