/** Billable operations of a prediction, counted from the code's own calls, and their price. */
import { setTimeout as sleep } from "node:timers/promises";
import { buildAssets } from "../../src/dev/assets.ts";
import type { Client } from "../../src/dev/client.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { type Bed, bundleWorker, noop, startBed, USERNAME } from "./bed.ts";
import { budgetedClient } from "./budget.ts";
import type { Effort } from "./effort.ts";
import {
  aMillion,
  dollars,
  KINDS,
  type Look,
  look,
  type Operations,
  objectRequests,
  perPrediction,
  rowsWritten,
} from "./prices.ts";
import type { Table, Verdict } from "./table.ts";

/** Predictions run one after the other, so that a slow machine adds no time to the objects' waking hours. */
const NOOPS = 20;
const GROUPS = 4;
const PER_SECOND = 50;
/**
 * 12 s, so that the deletion of a prediction's data is in its price. The alarm that sends the row of a short
 * run again comes earlier, as in production: each row is counted.
 */
const RETENTION_DAYS = "0.00014";
/** Every line of a prediction is counted; by default, one prediction in a hundred is logged. */
const LOG_SAMPLE_RATE = "1";
const LOOK_MS = 100;
const PATIENCE_MS = 30_000;

export async function countOperations({ tokens }: Effort): Promise<Table> {
  await buildAssets();
  const script = await bundleWorker("counting");
  const bill: Bill = {
    noop: await warmed(script, (bed) => countNoops(bed, bed.client)),
    budgeted: await warmed(script, countBudgeted),
    read: await warmed(script, (bed) => counted(bed, 1, () => readStream(bed.client, tokens))),
    unread: await warmed(script, (bed) => countUnread(bed, tokens)),
  };
  return billTable(bill, { noops: NOOPS, tokens, perSecond: PER_SECOND });
}

/**
 * Counts on a deployment of its own, half a minute old. An active account writes its models' run counts to D1
 * once a minute, which would be in the bill of the predictions of that moment.
 */
async function warmed(
  script: string,
  count: (bed: Bed) => Promise<Operations>,
): Promise<Operations> {
  const bed = await startBed(script, { RETENTION_DAYS, LOG_SAMPLE_RATE });
  try {
    // The first prediction of each model runs with cold caches and containers.
    await counted(bed, 1, () => noop(bed.client));
    await counted(bed, 1, () => readStream(bed.client, 1));
    return await count(bed);
  } finally {
    await bed.stop();
  }
}

/** Returns the cost of each of `count` predictions, until only its row is left. */
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

/**
 * Returns the cost of the no-ops that wrote the fewest rows, of four groups: one that outlives 250 ms, as on a busy
 * machine, has its row in the index earlier and writes it twice.
 */
async function countNoops(bed: Bed, client: Client): Promise<Operations> {
  let least: Operations | undefined;
  for (let group = 0; group < GROUPS; group++) {
    const cost = await counted(bed, NOOPS / GROUPS, () => noop(client));
    if (!least || rowsWritten(cost) < rowsWritten(least)) least = cost;
  }
  if (!least) throw new Error("no group was counted");
  return least;
}

/** Counts no-ops of an account with a budget: each has its row before it runs, and an alarm. */
async function countBudgeted(bed: Bed): Promise<Operations> {
  const client = await budgetedClient(bed);
  await counted(bed, 1, () => noop(client));
  return countNoops(bed, client);
}

/** Counts streams that nobody reads or waits for: their success is checked after the count. */
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

/** The cost of a prediction: of a no-op, of one with a budget, of a stream with a reader, and of one without. */
type Bill = Record<"noop" | "budgeted" | "read" | "unread", Operations>;

interface Conditions {
  noops: number;
  /** Tokens of each stream. */
  tokens: number;
  perSecond: number;
}

/** The limits of a stream of 500 tokens at 50 a second. */
const MOST_READ_ROWS = 60;
const MOST_READ_REQUESTS = 60;
/** The most rows cost 60 dollars, and the hours, requests and messages of the stream 32. */
const MOST_READ_DOLLARS = 92;
const MOST_UNREAD_ROWS = 30;
const MOST_NOOP_ROWS = 6;
const MOST_NOOP_DOLLARS = 16;
const MOST_BUDGETED_ROWS = 20;

function billTable(bill: Bill, { noops, tokens, perSecond }: Conditions): Table {
  const all = [bill.noop, bill.budgeted, bill.read, bill.unread];
  const limit = (what: string, value: number, most: number): Verdict => ({
    what,
    value,
    bound: { most },
    hard: true,
  });
  return {
    title: "Billable operations of a prediction, and a million of them at list prices",
    head: [
      "",
      "no-op",
      "a million",
      "with a budget",
      "a million",
      "read stream",
      "a million",
      "unread stream",
      "a million",
    ],
    rows: [
      ...KINDS.map((kind) => [
        kind.replaceAll("_", " "),
        ...all.flatMap((counted) => [number(counted[kind]), money(1e6 * dollars(counted, kind))]),
      ]),
      ["in all", ...all.flatMap((counted) => ["", money(aMillion(counted))])],
    ],
    notes: [
      `no-op: ${noops} one after the other, the cheapest quarter of them; streams: ${tokens} tokens at ${perSecond}/s, alone; all to the end of retention`,
      "log events: as if LOG_SAMPLE_RATE were 1",
      "not counted: the Worker's CPU time, $0.02 for a million ms, and what is stored",
      "beside them, for each active account and minute: 4 rows of D1 and a message about its counts, and 5 rows of objects about its metrics",
      "beside them, per hardware class: a pool that is always awake, $4.15 a month",
    ],
    verdicts: [
      limit("rows written for a stream that is read", rowsWritten(bill.read), MOST_READ_ROWS),
      limit("object requests of it", objectRequests(bill.read), MOST_READ_REQUESTS),
      limit("dollars for a million of it", aMillion(bill.read), MOST_READ_DOLLARS),
      limit("rows written for one that nobody reads", rowsWritten(bill.unread), MOST_UNREAD_ROWS),
      limit("rows written for a no-op", rowsWritten(bill.noop), MOST_NOOP_ROWS),
      limit(
        "rows written for a no-op with a budget",
        rowsWritten(bill.budgeted),
        MOST_BUDGETED_ROWS,
      ),
      limit("dollars for a million no-ops", aMillion(bill.noop), MOST_NOOP_DOLLARS),
    ],
  };
}

const number = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(2));
const money = (value: number) => `$${value.toFixed(2)}`;
