/**
 * Chat completions that stream through the service, next to the same container, asked directly: in turn, on
 * the same machine.
 */
import type { Bed } from "./bed.ts";
import { type Asked, chatOf, containerOf, readChat, type Source } from "./chat-reader.ts";
import type { Effort } from "./effort.ts";
import { inTurn, typical } from "./round.ts";
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
      const [ours, least] = await bothOf([service, direct], streams, asked, effort);
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

/** Medians over the rounds. */
interface Both {
  /** Median time to the first token, ms. */
  first: number;
  /** Tokens per second of all streams together. */
  rate: number;
}

async function bothOf(
  sources: readonly [Source, Source],
  streams: number,
  asked: Asked,
  { rounds }: Effort,
): Promise<[Both, Both]> {
  // A paced stream takes a fixed time, so one round is enough.
  const count = asked.per_second > 0 ? 1 : Math.min(rounds, MOST_ROUNDS);
  const found = await inTurn(
    count,
    ...sources.map((source) => () => readAll(source, streams, asked)),
  );
  const both = (all?: Both[]) => ({ first: typical(all, "first"), rate: typical(all, "rate") });
  return [both(found[0]), both(found[1])];
}

async function readAll(source: Source, streams: number, asked: Asked): Promise<Both> {
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: streams }, () => readChat(source, asked)));
  return {
    first: median(all.map(({ first }) => first)),
    rate: (streams * asked.max_tokens * 1000) / (performance.now() - began),
  };
}
