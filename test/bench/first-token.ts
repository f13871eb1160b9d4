/**
 * The first token of a stream: of a chat completion next to the same container, asked directly, and of a
 * native stream. The measure is a round trip to an object: a bare Worker that calls one and answers. In turn,
 * on the same machine.
 */
import { type Bed, bundleWorker, startBare, USERNAME } from "./bed.ts";
import { chatOf, containerOf, readChat } from "./chat-reader.ts";
import type { Effort } from "./effort.ts";
import { median } from "./statistics.ts";
import { ms, type Table, times } from "./table.ts";

/** Streams of each kind in a round. */
const FIRSTS = 10;
const MOST_ADDED = 4.5;
const PER_SECOND = 50;

export async function measureFirstToken(bed: Bed, { rounds, timed }: Effort): Promise<Table> {
  const floor = await startBare(await bundleWorker("floor"));
  try {
    const touch = await touchOf(floor.url);
    const service = chatOf(bed);
    const direct = await containerOf(service);
    const asked = { max_tokens: 2, per_second: PER_SECOND };
    const took: Record<"chat" | "direct" | "added" | "native" | "floor", number>[] = [];
    // The first streams are slower than all that follow.
    for (let n = -FIRSTS; n < rounds * FIRSTS; n++) {
      const { first: chat } = await readChat(service, asked);
      const { first: least } = await readChat(direct, asked);
      const native = await firstOfNative(bed);
      const began = performance.now();
      await touch();
      const once = performance.now() - began;
      if (n >= 0) took.push({ chat, direct: least, added: chat - least, native, floor: once });
    }
    const typical = (name: keyof (typeof took)[number]) => median(took.map((one) => one[name]));
    const trip = typical("floor");
    const trips = (time: number) => times(time / trip);
    const added = typical("added") / trip;
    const what = "added to the first token, in round trips";
    return {
      title: "The first token of a stream, one at a time",
      head: ["", "Auspex", "container", "added", "round trip", "ratio"],
      rows: [
        [
          "chat completion",
          ms(typical("chat")),
          ms(typical("direct")),
          ms(typical("added")),
          ms(trip),
          trips(typical("added")),
        ],
        ["native stream", ms(typical("native")), "", "", ms(trip), trips(typical("native"))],
      ],
      notes: [
        "round trip: a bare Worker calls an object",
        "native stream: with what its container takes, which nobody can ask alone",
      ],
      verdicts: [{ what, value: added, bound: { most: MOST_ADDED }, hard: timed }],
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

/** Returns a call of one object through a bare Worker. */
async function touchOf(url: string): Promise<() => Promise<void>> {
  const id = await (await fetch(`${url}/object`, { method: "POST" })).text();
  return async () => {
    const answer = await fetch(`${url}/touch/${id}`, { method: "POST" });
    if ((await answer.text()) !== "ok") throw new Error("the floor gave way");
  };
}
