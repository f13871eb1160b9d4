/** Callers of the official client who leave before the answer, which cancels their predictions. */
import { APIUserAbortError } from "openai";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { asks, openAiOf, predictionIn, type Setup, tallyOf, told } from "./support/openai.ts";
import type { Watch } from "./support/watch.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
/** Patience with a machine with two busy cores. */
const PATIENCE = { timeout: 10_000 };
/** The most time between leaving and the end of a model that obeys a cancel, ms. */
const SOON = 1_000;

let world: World;
/** The client that stays, and asks the container for its count. */
let setup: Setup;
let leaver: Setup;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  const { url } = await world.relay();
  setup = openAiOf(world.access);
  leaver = openAiOf({ ...world.access, url });
});
afterEach(async () => {
  await leaver.wire.settle();
  await setup.wire.settle();
});
afterAll(() => world.close());

async function canceled(watch: Watch) {
  await watch.ended;
  const full = await world.get(watch.id);
  expect(full.status).toBe("canceled");
  return full;
}

const hasStopped = (mark: string) =>
  vi.waitFor(async () => {
    const tally = await tallyOf(setup, ORACLE, mark);
    expect(tally).toEqual({ asked: 1, answered: 0, left: 1 });
  }, PATIENCE);

it("a caller who leaves a streamed chat cancels it, and the container stops", async () => {
  const stream = await leaver.openai.chat.completions.create({
    model: ORACLE,
    stream: true,
    messages: asks({ say: ["a", "b"], end: "hang", mark: "chat" }),
  });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "b") break;
  const full = await canceled(world.watch(predictionIn(leaver.wire.last)));
  expect(full.output).toHaveLength(3);
  expect(full.metrics).toMatchObject({ input_tokens: expect.any(Number), tokens_estimated: 1 });
  await hasStopped("chat");
});

it("a caller who leaves a streamed response cancels it, and the container stops", async () => {
  const stream = await leaver.openai.responses.create({
    model: ORACLE,
    stream: true,
    input: told({ say: ["a"], end: "hang", mark: "response" }),
  });
  for await (const event of stream) if (event.type === "response.output_text.delta") break;
  await canceled(world.watch(predictionIn(leaver.wire.last)));
  await hasStopped("response");
});

it.each(["chat", "response"])(
  "a caller who leaves a plain %s cancels it, and the container stops",
  async (kind) => {
    const before = await newest();
    const mark = `plain ${kind}`;
    const leave = new AbortController();
    const { signal } = leave;
    const { openai } = leaver;
    const asked =
      kind === "chat"
        ? openai.chat.completions.create(
            { model: ORACLE, messages: asks({ end: "hang", mark }) },
            { signal },
          )
        : openai.responses.create(
            { model: ORACLE, input: told({ end: "hang", mark }) },
            { signal },
          );
    const refused = expect(asked).rejects.toBeInstanceOf(APIUserAbortError);
    // A plain answer names its prediction only at its end, so the list is asked for the ID.
    const id = await vi.waitFor(async () => {
      const found = await newest();
      expect(found).not.toBe(before);
      return found;
    }, PATIENCE);
    await vi.waitFor(async () => {
      expect(await tallyOf(setup, ORACLE, mark)).toMatchObject({ asked: 1 });
    }, PATIENCE);
    leave.abort();
    const left = Date.now();
    await refused;
    const { updated_at } = await canceled(world.watch(id));
    expect(Date.parse(updated_at) - left).toBeLessThan(SOON);
    await hasStopped(mark);
  },
);

/** Returns the ID of the newest prediction in the list. */
async function newest(): Promise<string> {
  const page = z.object({ items: z.array(z.object({ id: z.uuid() })) });
  const { items } = await world.client.call(page, "GET", "/predictions?page_size=5");
  return items[0]?.id ?? "";
}
