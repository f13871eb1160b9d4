/** The rows of the index, checked against the predictions themselves. */
import { expect, vi } from "vitest";
import type { Client } from "../../../src/dev/client.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { type PredictionWithIO, prediction } from "../../../src/protocol/prediction.ts";
import { listed } from "./listed.ts";

const page = pageOf(prediction);
const PAGE_SIZE = 50;

/** Waits until the rows of the index agree with the predictions. */
export async function checkRows(client: Client, ended: PredictionWithIO[]): Promise<void> {
  expect(ended.length).toBeLessThanOrEqual(PAGE_SIZE);
  const path = `/predictions?page_size=${PAGE_SIZE}`;
  const rows = async () => {
    const { items } = await client.call(page, "GET", path);
    const byId = new Map(items.map((item) => [item.id, item]));
    for (const full of ended) expect(byId.get(full.id)).toEqual(listed(full));
  };
  await vi.waitFor(rows, { timeout: 10_000, interval: 50 });
}
