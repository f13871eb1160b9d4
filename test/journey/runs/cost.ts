/** The cost of runs that share a container, from the runner's measure to the clients of conventions. */
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { type Cost, cost as costShape } from "../../../src/protocol/money.ts";
import type { PredictionWithIO } from "../../../src/protocol/prediction.ts";
import { USERNAME } from "../support/access.ts";
import { anthropicOf, asks, openAiOf } from "../support/conventions.ts";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";

beforeAll(async () => {
  // A unit of the currency for each second.
  const body = { name: "cpu", price_per_hour: "3600" };
  expect((await world.operator.fetch("PUT", "/operator/hardware/cpu", { body })).status).toBe(200);
});

const partOf = ({ cost }: PredictionWithIO, type: string): number =>
  cost?.parts.find((part) => part.type === type)?.quantity ?? 0;

const sumOf = ({ parts }: Cost) => parts.reduce((sum, { amount }) => sum + Number(amount), 0);

const costIn = (usage: unknown) => z.object({ cost: z.number() }).parse(usage).cost;

it("two runs that share a container pay together for no more than its time, and one of them for its start", async () => {
  const from = Date.now();
  const first = await world.create("gated", { before: ["a"], gate: "both" });
  await first.first("output");
  const second = await world.create("gated", { before: ["b"], gate: "both" });
  await second.first("output");
  runner.open("gated", "both");
  const [one, other] = [
    await endOf(world, first, "succeeded"),
    await endOf(world, second, "succeeded"),
  ];
  const wall = (Date.now() - from) / 1_000;
  const [time, otherTime] = [partOf(one, "time"), partOf(other, "time")];
  expect(Math.min(time, otherTime)).toBeGreaterThan(0);
  expect(time + otherTime + partOf(one, "setup")).toBeLessThanOrEqual(wall);
  expect(partOf(one, "setup")).toBeGreaterThan(0);
  expect(partOf(other, "setup")).toBe(0);
  for (const { cost } of [one, other]) {
    const { amount, parts } = costShape.parse(cost);
    expect(sumOf(costShape.parse(cost))).toBeCloseTo(Number(amount), 9);
    // The price is one unit per second.
    for (const part of parts) expect(Number(part.amount)).toBeCloseTo(part.quantity, 9);
  }
});

it("the official clients pass on the cost of a call, plain and streamed", async () => {
  const [{ openai, ...one }, { anthropic, ...other }] = [
    openAiOf(world.access),
    anthropicOf(world.access),
  ];
  const asked = { model: `${USERNAME}/oracle`, messages: asks({ say: ["on"] }) };
  const { data, response } = await openai.chat.completions.create(asked).withResponse();
  expect(response.headers.get("x-auspex-cost")).toMatch(/^\d+\.\d+$/);
  expect(costIn(data.usage)).toBe(Number(response.headers.get("x-auspex-cost")));
  const stream = openai.chat.completions.stream({
    ...asked,
    stream_options: { include_usage: true },
  });
  expect(costIn((await stream.finalChatCompletion()).usage)).toBeGreaterThan(0);
  const message = await anthropic.messages.create({ ...asked, max_tokens: 9 });
  expect(costIn(message.usage)).toBeGreaterThan(0);
  const events = await Array.fromAsync(anthropic.messages.stream({ ...asked, max_tokens: 9 }));
  const [delta] = events.flatMap((event) => (event.type === "message_delta" ? [event.usage] : []));
  expect(costIn(delta)).toBeGreaterThan(0);
  for (const { wire } of [one, other]) wire.settle();
});
