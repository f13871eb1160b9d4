/**
 * Webhooks: their rate to a fast receiver while predictions run, and their cost for these; and the effect on
 * others of a thousand predictions whose receivers never answer.
 */
import { Receiver } from "../receiver/receiver.ts";
import { type Bed, noop, startBed } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { round } from "./round.ts";
import { median } from "./statistics.ts";
import { ms, perSecond, type Table, times, type Verdict } from "./table.ts";

const AT_ONCE = 32;
/** Requests of a round: about half a second without webhooks. */
const REQUESTS = 192;
/** Requests of a round, one at a time: about half a second, too. */
const SINGLE_REQUESTS = 40;
/** `started` and `completed`. */
const EVENTS = 2;
/** A webhook adds two posts and four rows, on the same two cores as everything else. */
const LEAST_SHARE = 0.5;
const MOST_SLOWER = 1.1;
const QUICK = "/quick";
const SILENT = "/silent";

export async function measureWebhooks({ script }: Bed, effort: Effort): Promise<Table> {
  const receiver = await Receiver.open();
  receiver.script(SILENT, ["silent"]);
  // The two beds differ only in the silent webhooks of one of them.
  const variables = { WEBHOOK_ALLOW_INSECURE: "true" };
  const beds = [await startBed(script, variables), await startBed(script, variables)] as const;
  try {
    const fast = await timeFast(beds[0], receiver, effort);
    const slow = await timeSlow(beds, receiver, effort);
    const share = fast.predictions / fast.without;
    const slower = slow.beside / slow.alone;
    const verdicts: Verdict[] = [
      { what: "webhooks that were lost", value: fast.lost, bound: { most: 0 }, hard: true },
      {
        what: "predictions/s with webhooks to without",
        value: share,
        bound: { least: LEAST_SHARE },
      },
      {
        what: `a prediction beside ${effort.silent} whose receivers are silent, to alone`,
        value: slower,
        bound: { most: MOST_SLOWER },
      },
    ];
    return {
      title: "Webhooks: a fast receiver, and silent ones",
      head: ["", "with", "without", "ratio"],
      rows: [
        [
          `no-op predictions, ${AT_ONCE} at a time, ${EVENTS} webhooks each`,
          perSecond(fast.predictions),
          perSecond(fast.without),
          times(share),
        ],
        ["webhooks delivered meanwhile", perSecond(fast.deliveries), "", ""],
        [
          `a no-op prediction beside ${effort.silent} whose receivers are silent`,
          ms(slow.beside),
          ms(slow.alone),
          times(slower),
        ],
      ],
      notes: [
        `fast: the last webhook came ${ms(fast.behind)} after the last prediction had ended (median of rounds)`,
        `silent: ${slow.open} requests were open in the middle of it, the others waited for their next try`,
      ],
      verdicts,
    };
  } finally {
    await Promise.all(beds.map((bed) => bed.stop()));
    await receiver.close();
  }
}

interface Fast {
  /** Per second. */
  predictions: number;
  without: number;
  deliveries: number;
  /** Time from the end of the last prediction to the last webhook, ms. */
  behind: number;
  /** Webhooks that did not come, or came twice. */
  lost: number;
}

/** Measures rounds with and without webhooks in turn. */
async function timeFast({ client }: Bed, receiver: Receiver, effort: Effort): Promise<Fast> {
  const requests = Math.round(REQUESTS * effort.requests);
  const webhook = { url: receiver.url + QUICK, secret: "a secret of the bench" };
  const plain: number[] = [];
  const rounds: { predictions: number; deliveries: number; behind: number }[] = [];
  // The first round of each is slower than all that follow.
  for (let n = -1; n < effort.rounds; n++) {
    const without = await round(() => noop(client), AT_ONCE, requests);
    const began = performance.now();
    const expected = receiver.of(QUICK).length + EVENTS * requests;
    const { throughput } = await round(() => noop(client, webhook), AT_ONCE, requests);
    const ended = performance.now();
    await receiver.waitFor(QUICK, expected);
    const told = performance.now();
    if (n < 0) continue;
    plain.push(without.throughput);
    rounds.push({
      predictions: throughput,
      deliveries: (EVENTS * requests * 1_000) / (told - began),
      behind: told - ended,
    });
  }
  const ids = receiver.of(QUICK).map(({ headers }) => headers["webhook-id"]);
  const typical = (name: keyof (typeof rounds)[number]) => median(rounds.map((one) => one[name]));
  return {
    predictions: typical("predictions"),
    without: median(plain),
    deliveries: typical("deliveries"),
    behind: typical("behind"),
    lost: (effort.rounds + 1) * EVENTS * requests - new Set(ids).size,
  };
}

interface Slow {
  /** Medians, ms. */
  beside: number;
  alone: number;
  open: number;
}

/** Measures one request at a time, in turn on a bed with silent webhooks and on one without. */
async function timeSlow(
  [alone, beside]: readonly [Bed, Bed],
  receiver: Receiver,
  effort: Effort,
): Promise<Slow> {
  const requests = Math.round(SINGLE_REQUESTS * effort.requests);
  const took: Record<"alone" | "beside", number[]> = { alone: [], beside: [] };
  for (const bed of [alone, beside]) await round(() => noop(bed.client), AT_ONCE, 2 * requests);
  const webhook = { url: receiver.url + SILENT };
  await round(() => noop(beside.client, webhook), AT_ONCE, effort.silent);
  await receiver.waitFor(SILENT, effort.silent);
  let open = 0;
  for (let n = 0; n < 2 * effort.rounds; n++) {
    took.alone.push((await round(() => noop(alone.client), 1, requests)).latency);
    took.beside.push((await round(() => noop(beside.client), 1, requests)).latency);
    if (n === effort.rounds) open = receiver.of(SILENT).filter(({ over }) => !over).length;
  }
  return { alone: median(took.alone), beside: median(took.beside), open };
}
