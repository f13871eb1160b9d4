/**
 * The first token of a stream: of a chat completion next to the same container, asked directly, and of a
 * native stream. The measure is a run of the floor (worker/floor.ts). In turn, on the same machine.
 */
import { type Bed, USERNAME } from "./bed.ts";
import { chatOf, containerOf, readChat } from "./chat-reader.ts";
import type { Effort } from "./effort.ts";
import { startFloor } from "./floor.ts";
import { inTurn, round } from "./round.ts";
import { median } from "./statistics.ts";
import { ms, type Table, times } from "./table.ts";

/** Streams of each kind in a round, one at a time. */
const FIRSTS = 10;
/** Streams that start together. */
const TOGETHER = 32;
/** The most that is added to the first token, in runs of the floor: 2.7 and 3.1 with 25 others at work. */
const MOST_ALONE = 4;
const MOST_TOGETHER = 5;
const PER_SECOND = 50;

export async function measureFirstToken(bed: Bed, { rounds, timed }: Effort): Promise<Table> {
  const floor = await startFloor();
  try {
    const service = chatOf(bed);
    const direct = await containerOf(service);
    const asked = { max_tokens: 2, per_second: PER_SECOND };
    const firstOf = async (source: typeof service) => (await readChat(source, asked)).first;
    const run = async () => (await round(floor.run, 1, 1)).latency;
    const kinds = [() => firstOf(service), () => firstOf(direct), run, () => firstOfNative(bed)];
    // The first streams are slower than all that follow.
    await inTurn(FIRSTS, ...kinds);
    const alone = await inTurn(rounds * FIRSTS, ...kinds);
    const all = (first: () => Promise<number>) => async () =>
      median(await Promise.all(Array.from({ length: TOGETHER }, first)));
    const together = await inTurn(rounds, ...kinds.map(all));
    const measured = [alone, together].map((found) => {
      const [chat = 0, container = 0, least = 0, native = 0] = found.map((times) => median(times));
      return { chat, container, least, native, added: (chat - container) / least };
    });
    const names = ["one at a time", `${TOGETHER} that start together`];
    return {
      title: "The first token of a stream",
      head: ["", "chat", "container", "floor", "added ÷ floor", "native stream"],
      rows: measured.map(({ chat, container, least, added, native }, n) => {
        return [names[n] ?? "", ms(chat), ms(container), ms(least), times(added), ms(native)];
      }),
      notes: [
        "floor: a no-op run with the same hops without Auspex (worker/floor.ts)",
        "native stream: with what its container takes, which nobody can ask alone",
      ],
      verdicts: measured.map(({ added }, n) => ({
        what: `added to the first token, ${names[n]}, in runs of the floor`,
        value: added,
        bound: { most: n === 0 ? MOST_ALONE : MOST_TOGETHER },
        hard: timed,
      })),
    };
  } finally {
    await floor.stop();
  }
}

/** Returns the time from the request to the first output of a native stream, ms. */
export async function firstOfNative({ client }: Bed): Promise<number> {
  const input = { count: 2, per_second: PER_SECOND };
  const body = { model: `${USERNAME}/tokens`, stream: true, input };
  const began = performance.now();
  let first: number | undefined;
  for await (const { event } of client.events("POST", "/predictions", { body })) {
    if (event === "output") first ??= performance.now() - began;
  }
  if (first === undefined) throw new Error("a stream has ended without a token");
  return first;
}

/** Returns the time from the request to the first token of a chat completion, ms. */
export const firstOfChat = async (bed: Bed): Promise<number> =>
  (await readChat(chatOf(bed), { max_tokens: 2, per_second: PER_SECOND })).first;
