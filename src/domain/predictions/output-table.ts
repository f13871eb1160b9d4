/** An output as a table, where it is one: rows of records, of lists, or the vectors of embeddings. */
import type { Json } from "../../protocol/common.ts";

type Cell = string | number | boolean | null;

const isCell = (value: Json): value is Cell => typeof value !== "object" || value === null;

const isRecord = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** More columns than any vector has. */
const MAX_COLUMNS = 20_000;

/** @returns rows, of which the first may name the columns; undefined for what is no table */
export function tableOf(output: Json): Cell[][] | undefined {
  if (isRecord(output)) return embeddingsIn(output) ?? tableOfRecords([output]);
  if (!Array.isArray(output) || output.length === 0) return undefined;
  const [only] = output;
  if (output.length === 1 && only !== undefined && !isCell(only)) {
    const inner = tableOf(only);
    if (inner) return inner;
  }
  if (output.every((row) => typeof row === "number")) return output.map((cell) => [cell]);
  if (output.every((row) => Array.isArray(row) && row.length > 0 && row.every(isCell)))
    return output.map((row) => (Array.isArray(row) ? row.filter(isCell) : []));
  return output.every(isRecord) ? tableOfRecords(output.filter(isRecord)) : undefined;
}

function tableOfRecords(records: { [key: string]: Json }[]): Cell[][] | undefined {
  if (!records.every((record) => Object.values(record).every(isCell))) return undefined;
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  if (names.length === 0 || names.length > MAX_COLUMNS) return undefined;
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

/** With the line ends and quotes of RFC 4180. A text that a spreadsheet would run begins with an apostrophe. */
export const csvOf = (rows: Cell[][]): string =>
  rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
