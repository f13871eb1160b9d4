/** The OpenAI convention by its official client: what is rare. */
import type OpenAI from "openai";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { USERNAME } from "../support/access.ts";
import { asks, openAiOf, type Script, type Setup, tallyOf, told } from "../support/conventions.ts";
import { world } from "../support/shared.ts";

const ORACLE = `${USERNAME}/oracle`;
const RECITER = `${USERNAME}/reciter`;
/** Patience with a machine with two busy cores. */
const PATIENCE = { timeout: 20_000 };

describe("rare calls of the OpenAI convention", () => {
  let setup: Setup;
  let openai: OpenAI;

  beforeAll(() => {
    setup = openAiOf(world.access);
    openai = setup.openai;
  });
  afterEach(() => setup.wire.settle());

  const hang = (mark: string): Script => ({ say: ["a", "b"], end: "hang", mark });

  const recites = (...outputs: unknown[]) => ({
    model: RECITER,
    messages: [{ role: "user" as const, content: JSON.stringify(outputs) }],
  });

  it("one container serves 16 streams at a time", async () => {
    const texts = await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const messages = asks({ say: [`${n}:`, "a", "b"], every: 20 });
        const stream = openai.chat.completions.stream({ model: ORACLE, messages });
        return stream.finalContent();
      }),
    );
    expect(texts).toEqual(texts.map((_, n) => `${n}:ab`));
  });

  it("the container stops when a response in the background is canceled", async () => {
    const input = told(hang("background"));
    const { id } = await openai.responses.create({ model: ORACLE, background: true, input });
    await vi.waitFor(
      async () => expect(await tallyOf(setup, ORACLE, "background")).toMatchObject({ asked: 1 }),
      PATIENCE,
    );
    expect(await openai.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
    expect(await tallyOf(setup, ORACLE, "background")).toMatchObject({ answered: 0, left: 1 });
  });

  it("a Cog model may output chunks of the convention", async () => {
    const call = { id: "c1", type: "function", function: { name: "weather", arguments: "{}" } };
    const pieces = [{ content: "See: " }, { tool_calls: [{ index: 0, ...call }] }];
    const asked = recites(...pieces.map((delta) => ({ choices: [{ index: 0, delta }] })));
    const plain = await openai.chat.completions.create(asked);
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    for (const { choices } of [plain, streamed])
      expect(choices[0]).toMatchObject({
        message: { content: "See: ", tool_calls: [{ id: "c1", function: { name: "weather" } }] },
        finish_reason: "tool_calls",
      });
  });

  it("a Cog model fails with its own words", async () => {
    const refused = openai.chat.completions.create(recites("a", false));
    const message = expect.stringContaining("forgotten its lines");
    await expect(refused).rejects.toMatchObject({ status: 502, code: "model_error", message });
  });
});
