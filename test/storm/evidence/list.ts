/** All predictions of an account, from its list and its export. */
import type { Client } from "../../../src/dev/client.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { type ExportLine, exportLine } from "../../../src/protocol/export.ts";
import { type Prediction, prediction } from "../../../src/protocol/prediction.ts";

const page = pageOf(prediction);
const PAGE_SIZE = 50;

/** @param statuses of the predictions; none means all */
export async function rowsOf(
  client: Client,
  ...statuses: Prediction["status"][]
): Promise<Prediction[]> {
  const filter = statuses.map((status) => `&statuses=${status}`).join("");
  const rows: Prediction[] = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const path = `/predictions?page_size=${PAGE_SIZE}${filter}${after}`;
    const { items, next_cursor } = await client.call(page, "GET", path);
    rows.push(...items);
    cursor = next_cursor;
  } while (cursor !== null);
  return rows;
}

/** @throws Error when an export is cut short */
export async function exportOf(client: Client): Promise<ExportLine[]> {
  const lines: ExportLine[] = [];
  let query = "";
  for (;;) {
    const response = await client.fetch("GET", `/user/export${query}`);
    const text = await response.text();
    const part = text
      .trimEnd()
      .split("\n")
      .map((line) => exportLine.parse(JSON.parse(line)));
    lines.push(...part);
    const last = part.at(-1);
    if (last?.type !== "end") throw new Error(`an export was cut short: ${JSON.stringify(last)}`);
    if (last.next_url === null) return lines;
    query = new URL(last.next_url).search;
  }
}
