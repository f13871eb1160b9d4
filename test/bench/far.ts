/**
 * The latency for a caller far from the shared objects: D1, the pool and the account are 80 ms away, one
 * round trip. The same Worker answers with that distance and without. The added time in round trips is the
 * number of sequential waits.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { buildAssets } from "../../src/dev/assets.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { type Bed, bundleWorker, noop, startBed, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { firstOfChat, firstOfNative } from "./first-token.ts";
import { median } from "./statistics.ts";
import { ms, type Table, type Verdict } from "./table.ts";

const FAR_MS = 80;
/** Caches are kept for 10 s. */
const COLD_MS = 10_500;
const COLD_ROUNDS = 3;

interface Measured {
  what: string;
  /** Measures the time from the call to the awaited answer, ms. */
  took: (bed: Bed) => Promise<number>;
  /** The most round trips with warm caches. */
  most?: number;
  /** Whether the call is measured with cold caches, too. */
  cold?: true;
}

const timed = (act: (bed: Bed) => Promise<unknown>) => async (bed: Bed) => {
  const began = performance.now();
  await act(bed);
  return performance.now() - began;
};

const create = (headers: Record<string, string> = {}) =>
  timed(({ client }) => {
    const body = { model: `${USERNAME}/noop`, input: {} };
    return client.call(predictionWithIO, "POST", "/predictions", { body, headers });
  });

/** Reads a path of the API with a token, or a page with a visitor's session. */
const read = (path: string) =>
  timed(async ({ client, deployment }) => {
    const [, rest] = path.split("/v1");
    const response = await (rest ? client.fetch("GET", rest) : fetch(deployment.url + path));
    await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
  });

const MEASURED: Measured[] = [
  { what: "create", took: create(), most: 1.3, cold: true },
  { what: "create under a key", took: (bed) => create({ "idempotency-key": randomUUID() })(bed) },
  { what: "no-op that is waited for", took: timed(({ client }) => noop(client)) },
  { what: "first token of a stream", took: firstOfNative, most: 1.3, cold: true },
  { what: "first token of a chat", took: firstOfChat, most: 1.3 },
  { what: "GET /v1/predictions", took: read("/v1/predictions") },
  { what: "GET /v1/models", took: read("/v1/models") },
  { what: "GET /v1/models/{model}", took: read(`/v1/models/${USERNAME}/noop`) },
  { what: "GET /v1/search/models", took: read("/v1/search/models?q=noop") },
  { what: "page /models", took: read("/models"), most: 1.3, cold: true },
  // The model says which versions, examples and pool are read next.
  { what: "page /models/{model}", took: read(`/models/${USERNAME}/noop`), most: 2.3, cold: true },
];

export async function measureFar({ rounds }: Effort): Promise<Table> {
  await buildAssets();
  const script = await bundleWorker("far");
  const near = await startBed(script, { FAR_MS: "0" });
  const far = await startBed(script, { FAR_MS: String(FAR_MS) });
  try {
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    for (const { what, took, most, cold } of MEASURED) {
      const warm = await measured(took, near, far, rounds);
      const first = cold && (await measured(took, near, far, COLD_ROUNDS, COLD_MS));
      const cells = first ? [ms(first.far), trips(first.added)] : ["", ""];
      rows.push([what, ms(warm.near), ms(warm.far), trips(warm.added), ...cells]);
      if (most !== undefined)
        verdicts.push({ what: `round trips of ${what}`, value: warm.added, bound: { most } });
    }
    return {
      title: `With D1, pools and accounts ${FAR_MS} ms away`,
      head: ["", "near", "far", "round trips", "far, cold", "round trips"],
      rows,
      notes: [
        `round trips: what ${FAR_MS} ms added, divided by it: calls that are waited for one after the other`,
        "cold: nothing was asked for 10 s, and what is remembered of tokens and models is looked up again",
      ],
      verdicts,
    };
  } finally {
    await Promise.all([near.stop(), far.stop()]);
  }
}

/** Measures both beds in turn. The first calls are left out because they are slower. */
async function measured(
  took: Measured["took"],
  near: Bed,
  far: Bed,
  rounds: number,
  pauseMs = 0,
): Promise<{ near: number; far: number; added: number }> {
  const all: Record<"near" | "far", number>[] = [];
  for (let n = pauseMs > 0 ? 0 : -2; n < rounds; n++) {
    await sleep(pauseMs);
    const one = { near: await took(near), far: await took(far) };
    if (n >= 0) all.push(one);
  }
  const typical = (place: "near" | "far") => median(all.map((one) => one[place]));
  const added = (typical("far") - typical("near")) / FAR_MS;
  return { near: typical("near"), far: typical("far"), added };
}

const trips = (value: number) => value.toFixed(1);
