/**
 * Chat completions that stream through the service, next to the very container that answers them,
 * asked directly: in turn, on the same machine. And what an object costs at the least: a bare
 * Worker that calls one and answers.
 */
import { type Bed, bundleWorker, startBare, USERNAME } from "./bed.ts";
import { type Asked, readChat, type Source } from "./chat-reader.ts";
import type { Effort } from "./effort.ts";
import { median } from "./statistics.ts";
import { ms, perSecond, type Table, times, type Verdict } from "./table.ts";

/** What each stream of a large server under load comes at, and what no server does. */
const PACES = [50, 0] as const;
const STREAMS = [1, 32] as const;
/** Of each stream without a pause: some hundred milliseconds from the container itself. */
const UNPACED_TOKENS = 2_000;
/** Streams in a round that only time the first token. */
const FIRSTS = 10;
/** The longest of these rounds is a second each way. */
const MOST_ROUNDS = 7;
const MOST_ADDED = 4;
const LEAST_AT_32 = 0.7;

export async function measureVendora(bed: Bed, effort: Effort): Promise<Table> {
  const floor = await startBare(await bundleWorker("floor"));
  try {
    const touch = await floorOf(floor.url);
    const service: Source = {
      url: `${bed.deployment.url}/v1/vendora`,
      model: `${USERNAME}/pace`,
      token: bed.seed.token,
    };
    const direct = await behind(service);
    const first = await timeFirsts(service, direct, touch, effort);
    const added = first.added / first.floor;
    const rows: string[][] = [];
    const verdicts: Verdict[] = [
      {
        what: "added to the first token, in round trips",
        value: added,
        bound: { most: MOST_ADDED },
      },
    ];
    for (const per_second of PACES) {
      for (const streams of STREAMS) {
        const asked = {
          per_second,
          max_tokens: per_second > 0 ? per_second * effort.seconds : UNPACED_TOKENS,
        };
        const [ours, least] = await inTurn([service, direct], streams, asked, effort);
        const share = ours.rate / least.rate;
        const pace = per_second > 0 ? `${per_second}/s` : "as fast as it can";
        rows.push([
          pace,
          String(streams),
          ms(ours.first),
          ms(least.first),
          perSecond(ours.rate),
          perSecond(least.rate),
          times(share),
        ]);
        if (streams === 32 && per_second > 0) {
          const what = `tokens to 32 streams, ${pace} each`;
          verdicts.push({ what, value: share, bound: { least: LEAST_AT_32 } });
        }
      }
    }
    return {
      title: "Chat completions through the service, and from the same container directly",
      head: ["pace", "streams", "first token", "direct", "tokens", "direct", "ratio"],
      rows,
      notes: [
        `one stream at a time, first token: ${ms(first.service)}, direct ${ms(first.direct)}, a bare Worker that calls an object ${ms(first.floor)}`,
        "as fast as it can: no model is so fast; the least that each token costs on the way",
      ],
      verdicts,
    };
  } finally {
    await floor.stop();
  }
}

/** The container that has just answered, to be asked without anything in between. */
async function behind(service: Source): Promise<Source> {
  const { fingerprint } = await readChat(service, { max_tokens: 1, per_second: 0 });
  if (!fingerprint) throw new Error("the container has not said where it is");
  return { url: `${fingerprint}/v1`, model: "pace" };
}

/** A call of one object through a bare Worker, and nothing else. */
async function floorOf(url: string): Promise<() => Promise<void>> {
  const id = await (await fetch(`${url}/object`, { method: "POST" })).text();
  return async () => {
    const answer = await fetch(`${url}/touch/${id}`, { method: "POST" });
    if ((await answer.text()) !== "ok") throw new Error("the floor gave way");
  };
}

/** Medians, ms, of the three in turn; `added` is that of the differences. */
async function timeFirsts(
  service: Source,
  direct: Source,
  touch: () => Promise<void>,
  { rounds }: Effort,
): Promise<Record<"service" | "direct" | "added" | "floor", number>> {
  const took: { service: number; direct: number; added: number; floor: number }[] = [];
  const asked = { max_tokens: 2, per_second: 50 };
  // The first ones are slower than all that follow.
  for (let n = -FIRSTS; n < rounds * FIRSTS; n++) {
    const { first: ours } = await readChat(service, asked);
    const { first: least } = await readChat(direct, asked);
    const began = performance.now();
    await touch();
    const floor = performance.now() - began;
    if (n >= 0) took.push({ service: ours, direct: least, added: ours - least, floor });
  }
  const typical = (name: keyof (typeof took)[number]) => median(took.map((one) => one[name]));
  return {
    service: typical("service"),
    direct: typical("direct"),
    added: typical("added"),
    floor: typical("floor"),
  };
}

interface Round {
  /** Median time to the first token, ms. */
  first: number;
  /** Tokens per second of all streams together. */
  rate: number;
}

/** Rounds A B A B …, so that what else the machine does hits both; medians over the rounds. */
async function inTurn(
  sources: readonly [Source, Source],
  streams: number,
  asked: Asked,
  { rounds }: Effort,
): Promise<[Round, Round]> {
  const found: [Round[], Round[]] = [[], []];
  // What comes at a pace takes as long as it takes: once is enough of it.
  const times = asked.per_second > 0 ? 1 : Math.min(rounds, MOST_ROUNDS);
  for (let n = 0; n < times; n++) {
    for (const side of [0, 1] as const)
      found[side].push(await round(sources[side], streams, asked));
  }
  const typical = (all: Round[]): Round => ({
    first: median(all.map(({ first }) => first)),
    rate: median(all.map(({ rate }) => rate)),
  });
  return [typical(found[0]), typical(found[1])];
}

async function round(source: Source, streams: number, asked: Asked): Promise<Round> {
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: streams }, () => readChat(source, asked)));
  return {
    first: median(all.map(({ first }) => first)),
    rate: (streams * asked.max_tokens * 1000) / (performance.now() - began),
  };
}
