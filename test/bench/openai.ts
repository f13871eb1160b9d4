/**
 * Chat completions that stream through the service, next to the same container, asked directly: in turn, on
 * the same machine.
 */
import type { Bed } from "./bed.ts";
import { type Asked, chatOf, containerOf, readChat, type Source } from "./chat-reader.ts";
import type { Effort } from "./effort.ts";
import { median } from "./statistics.ts";
import { ms, perSecond, type Table, times, type Verdict } from "./table.ts";

/**
 * Tokens per second of each stream: those of a large server under load, and 0 for no pause, which no server
 * reaches.
 */
const PACES = [50, 0] as const;
const STREAMS = [1, 32] as const;
/** Tokens of each stream without a pause: a few hundred milliseconds from the container itself. */
const UNPACED_TOKENS = 2_000;
/** The longest round is a second for each side. */
const MOST_ROUNDS = 7;
const LEAST_AT_32 = 0.7;

export async function measureOpenAi(bed: Bed, effort: Effort): Promise<Table> {
  const service = chatOf(bed);
  const direct = await containerOf(service);
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
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
    notes: ["as fast as it can: no model is so fast; the least that each token costs on the way"],
    verdicts,
  };
}

interface Round {
  /** Median time to the first token, ms. */
  first: number;
  /** Tokens per second of all streams together. */
  rate: number;
}

/**
 * Measures in rounds A B A B …, so that other work of the machine affects both. Returns medians over the
 * rounds.
 */
export async function inTurn(
  sources: readonly [Source, Source],
  streams: number,
  asked: Asked,
  { rounds }: Effort,
): Promise<[Round, Round]> {
  const found: [Round[], Round[]] = [[], []];
  // A paced stream takes a fixed time, so one round is enough.
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
