/** Billable operations of a prediction, counted from the code's own calls, and their price. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/dev/client.ts";
import { type Bed, bundleWorker, noop, startBed, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import {
  dollars,
  KINDS,
  type Operations,
  objectRequests,
  operations,
  perPrediction,
  rowsWritten,
} from "./prices.ts";
import type { Table } from "./table.ts";

const NOOPS = 20;
const PER_SECOND = 50;
/** For each of 500 tokens; all that a stream costs besides is within them. */
const MOST_REQUESTS = 60 / 500;
const MOST_ROWS = 400 / 500;
/** 2.6 s: the end of what is kept is part of a prediction's life, and of its price. */
const RETENTION_DAYS = "0.00003";
/** Messages of a prediction's life: its row at the end, and once more when its data is removed. */
const MESSAGES = 2;
const LOOK_MS = 100;
const PATIENCE_MS = 30_000;

export async function countOperations({ tokens }: Effort): Promise<Table> {
  const bed = await startBed(await bundleWorker("counting"), { RETENTION_DAYS });
  try {
    // The first one finds caches and container cold.
    await counted(bed, 1, () => noop(bed.client));
    const none = await counted(bed, NOOPS, () => noop(bed.client));
    const stream = await counted(bed, 1, () => readStream(bed.client, tokens));
    return billOf(none, stream, tokens);
  } finally {
    await bed.stop();
  }
}

/** What each of `count` predictions costs, until nothing is left of it but its row. */
async function counted(bed: Bed, count: number, predict: () => Promise<void>): Promise<Operations> {
  const before = await read(bed);
  await Promise.all(Array.from({ length: count }, predict));
  const due = before.queue_operations + 3 * MESSAGES * count;
  const deadline = performance.now() + PATIENCE_MS;
  let after = await read(bed);
  while (after.queue_operations < due) {
    if (performance.now() > deadline) throw new Error("the last messages have not come");
    await sleep(LOOK_MS);
    after = await read(bed);
  }
  return perPrediction(before, after, count);
}

async function read({ deployment }: Bed): Promise<Operations> {
  return operations.parse(await (await fetch(`${deployment.url}/counts`)).json());
}

async function readStream(client: Client, tokens: number): Promise<void> {
  const input = { count: tokens, per_second: PER_SECOND };
  const body = { model: `${USERNAME}/tokens`, stream: true, input };
  let outputs = 0;
  for await (const { event } of client.events("POST", "/predictions", { body })) {
    if (event === "output") outputs++;
  }
  if (outputs !== tokens) throw new Error(`${outputs} of ${tokens} tokens came`);
}

function billOf(none: Operations, stream: Operations, tokens: number): Table {
  const number = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(2));
  const money = (value: number) => `$${(value * 1e6).toFixed(2)}`;
  const total = (counted: Operations) =>
    KINDS.reduce((sum, kind) => sum + dollars(counted, kind), 0);
  const rows = KINDS.map((kind) => [
    kind.replaceAll("_", " "),
    number(none[kind]),
    money(dollars(none, kind)),
    number(stream[kind]),
    money(dollars(stream, kind)),
  ]);
  return {
    title: "Billable operations of a prediction, and a million of them at list prices",
    head: ["", "no-op", "a million", `${tokens} tokens`, "a million"],
    rows: [...rows, ["in all", "", money(total(none)), "", money(total(stream))]],
    notes: [
      `no-op: ${NOOPS} at a time; stream: alone, ${PER_SECOND} tokens/s to one reader; both to the end of retention`,
      "beside them, per hardware class: a pool that is always awake, $4.15 a month",
    ],
    verdicts: [
      {
        what: `object requests of ${tokens} tokens`,
        value: objectRequests(stream),
        bound: { most: MOST_REQUESTS * tokens },
        hard: true,
      },
      {
        what: `rows written for ${tokens} tokens`,
        value: rowsWritten(stream),
        bound: { most: MOST_ROWS * tokens },
        hard: true,
      },
    ],
  };
}
