/** Billable operations of a prediction, counted from the code's own calls, and their price. */
import { setTimeout as sleep } from "node:timers/promises";
import { buildAssets } from "../../src/dev/assets.ts";
import type { Client } from "../../src/dev/client.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { type Bed, bundleWorker, noop, startBed, USERNAME } from "./bed.ts";
import { type Bill, billTable } from "./bill-table.ts";
import type { Effort } from "./effort.ts";
import { type Look, look, type Operations, perPrediction } from "./prices.ts";
import type { Table } from "./table.ts";

/** One after the other, so that a slow machine adds nothing to what the objects are awake. */
const NOOPS = 20;
const PER_SECOND = 50;
/**
 * 12 s: the end of what is kept is part of a prediction's life, and of its price. Later than the alarm
 * that would send the row of a short run again, as in production: each is a row.
 */
const RETENTION_DAYS = "0.00014";
/** Every line that a prediction may write is counted: usually it is one in a hundred. */
const LOG_SAMPLE_RATE = "1";
const LOOK_MS = 100;
const PATIENCE_MS = 30_000;

export async function countOperations({ tokens }: Effort): Promise<Table> {
  await buildAssets();
  const script = await bundleWorker("counting");
  const bill: Bill = {
    noop: await warmed(script, (bed) => counted(bed, NOOPS, () => noop(bed.client))),
    read: await warmed(script, (bed) => counted(bed, 1, () => readStream(bed.client, tokens))),
    unread: await warmed(script, (bed) => countUnread(bed, tokens)),
  };
  return billTable(bill, { noops: NOOPS, tokens, perSecond: PER_SECOND });
}

/**
 * On a deployment of its own, half a minute old: an account that is active tells D1 once a minute how
 * often its models were run, which would be in the bill of whatever is counted then.
 */
async function warmed(
  script: string,
  count: (bed: Bed) => Promise<Operations>,
): Promise<Operations> {
  const bed = await startBed(script, { RETENTION_DAYS, LOG_SAMPLE_RATE });
  try {
    // The first of each model finds caches and container cold.
    await counted(bed, 1, () => noop(bed.client));
    await counted(bed, 1, () => readStream(bed.client, 1));
    return await count(bed);
  } finally {
    await bed.stop();
  }
}

/** What each of `count` predictions costs, until nothing is left of it but its row. */
async function counted(bed: Bed, count: number, predict: () => Promise<void>): Promise<Operations> {
  const before = await lookAt(bed);
  for (let n = 0; n < count; n++) await predict();
  const deadline = performance.now() + PATIENCE_MS;
  let after = await lookAt(bed);
  while (after.emptied < before.emptied + count || after.queued > 0) {
    if (performance.now() > deadline) throw new Error("what was predicted has not been removed");
    await sleep(LOOK_MS);
    after = await lookAt(bed);
  }
  return perPrediction(before.counts, after.counts, count);
}

/** Nobody asks for it while it runs, nor waits: that it succeeded is looked up when it is counted. */
async function countUnread(bed: Bed, tokens: number): Promise<Operations> {
  const { client } = bed;
  const body = { model: `${USERNAME}/tokens`, input: streamInput(tokens) };
  let id = "";
  const cost = await counted(bed, 1, async () => {
    ({ id } = await client.call(predictionWithIO, "POST", "/predictions", { body }));
  });
  const { status } = await client.call(predictionWithIO, "GET", `/predictions/${id}`);
  if (status !== "succeeded") throw new Error(`a stream that nobody reads is ${status}`);
  return cost;
}

async function lookAt({ deployment }: Bed): Promise<Look> {
  return look.parse(await (await fetch(`${deployment.url}/counts`)).json());
}

async function readStream(client: Client, tokens: number): Promise<void> {
  const body = { model: `${USERNAME}/tokens`, stream: true, input: streamInput(tokens) };
  let outputs = 0;
  for await (const { event } of client.events("POST", "/predictions", { body })) {
    if (event === "output") outputs++;
  }
  if (outputs !== tokens) throw new Error(`${outputs} of ${tokens} tokens came`);
}

const streamInput = (count: number) => ({ count, per_second: PER_SECOND });
