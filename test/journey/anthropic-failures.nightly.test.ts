/** Messages of the official client that fail, or whose caller leaves. */
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { USERNAME } from "./support/access.ts";
import { anthropicOf, asks, type Setup, textIn } from "./support/anthropic.ts";
import { predictionIn } from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
/** Patience with a machine with two busy cores. */
const PATIENCE = { timeout: 10_000 };

let world: World;
let setup: Setup;
let anthropic: Anthropic;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  setup = anthropicOf(world.access);
  anthropic = setup.anthropic;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

describe.each([
  ["that has messages", NATIVE],
  ["that only chats", ORACLE],
])("a container %s", (_, model) => {
  it("a failed call has the container's words, and the error class of its status", async () => {
    const fail = (status: number) => ({
      fail: { status, error: { message: "not so fast", type: "x" } },
    });
    for (const [status, Failure] of [
      [400, Anthropic.BadRequestError],
      [413, Anthropic.APIError],
      [422, Anthropic.UnprocessableEntityError],
      [500, Anthropic.InternalServerError],
    ] as const) {
      const before = setup.wire.exchanges.length;
      const refused = await anthropic.messages
        .create(asks(model, fail(status)))
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Failure);
      expect(refused).toMatchObject({ requestID: expect.stringMatching(/./) });
      expect(String(refused)).toContain("not so fast");
      expect(setup.wire.exchanges).toHaveLength(before + 1);
    }
  });

  it.each(["error", "cut"] as const)("a message fails inside its stream: %s", async (end) => {
    const stream = anthropic.messages.stream(asks(model, { say: ["a"], every: 50, end }));
    const texts: string[] = [];
    stream.on("text", (text) => texts.push(text));
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(texts).toEqual(["a"]);
  });

  it("a caller who leaves in the middle of a stream stops the container", async () => {
    const { url } = await world.relay();
    const leaver = anthropicOf({ ...world.access, url });
    const mark = `left by ${model}`;
    const asked = asks(model, { say: ["a", "b"], end: "hang", mark });
    const stream = await leaver.anthropic.messages.create({ ...asked, stream: true });
    for await (const event of stream) {
      if (event.type === "content_block_delta" && textOfDelta(event.delta) === "b") break;
    }
    const watch = world.watch(predictionIn(leaver.wire.last));
    await watch.ended;
    expect(await world.get(watch.id)).toMatchObject({ status: "canceled" });
    await leaver.wire.settle();
    await vi.waitFor(async () => {
      expect(await tally(model, mark)).toEqual({ asked: 1, answered: 0, left: 1 });
    }, PATIENCE);
  });
});

const textOfDelta = (delta: Anthropic.RawContentBlockDelta) =>
  delta.type === "text_delta" ? delta.text : "";

/** Returns the count that the container has of the requests with this mark. */
async function tally(model: string, mark: string): Promise<unknown> {
  return JSON.parse(textIn(await anthropic.messages.create(asks(model, { tally: mark }))));
}
