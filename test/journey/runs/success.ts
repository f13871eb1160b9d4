/** Predictions that succeed. */
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import { USERNAME } from "../support/access.ts";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";
import type { Event } from "../support/watch.ts";

/** The first event of a stream carries the prediction. */
const firstEvent = z.object({
  status: z.literal("pending"),
  prediction: z.object({ id: z.uuid() }),
});

it("a prediction answers one value to a caller who waits", async () => {
  const response = await world.client.fetch("POST", "/predictions", {
    body: { model: `${USERNAME}/hello`, input: { name: "Ada" } },
    headers: { prefer: "wait" },
  });
  expect(response.status).toBe(200);
  const answer = predictionWithIO.parse(await response.json());
  expect(answer).toMatchObject({ status: "succeeded", output: "Hello, Ada!" });
  const full = await endOf(world, world.watch(answer.id), "succeeded");
  expect(full).toEqual(answer);
});

it("a stream brings the pieces of its output", async () => {
  const input = { prompt: "Alice was", max_tokens: 40, seed: 7, delay_ms: 5 };
  const body = { model: `${USERNAME}/text-generation`, stream: true, input };
  const events: Event[] = [];
  for await (const event of world.client.events("POST", "/predictions", { body })) {
    events.push(event);
  }
  const { prediction } = firstEvent.parse(events[0]?.data);
  const watch = world.watch(prediction.id);
  const full = await endOf(world, watch, "succeeded");
  expect(events).toEqual(watch.events);
  expect(full.output).toEqual(watch.dataOf("output"));
  expect(full.output).toHaveLength(40);
  expect(full.metrics).toMatchObject({ output_tokens: 40 });
  expect(JSON.stringify(watch.dataOf("setup"))).toMatch(/starting.*ready/);
});

it("a prediction goes on when its only reader leaves, waiting or streaming", async () => {
  const input = { before: ["a"], gate: "leavers", after: ["b"] };
  const leave = new AbortController();
  const body = { model: `${USERNAME}/gated`, input, stream: true };
  const call = { body, signal: leave.signal };
  const stream = world.client.events("POST", "/predictions", call);
  const { value } = await stream.next();
  const streamed = world.watch(firstEvent.parse(value?.data).prediction.id);
  const waited = world.client.fetch("POST", "/predictions", {
    body: { ...body, stream: false },
    headers: { prefer: "wait=30", "idempotency-key": "leaver" },
    signal: leave.signal,
  });
  const left = expect(waited).rejects.toThrow("aborted");
  await vi.waitFor(() => expect(runner.processes("gated").length).toBeGreaterThan(0));
  await streamed.first("output");
  leave.abort();
  await left;
  // The idempotency key finds the prediction of the caller who left.
  const again = await world.client.call(predictionWithIO, "POST", "/predictions", {
    body: { ...body, stream: false },
    headers: { "idempotency-key": "leaver" },
  });
  runner.open("gated", "leavers");
  for (const watch of [streamed, world.watch(again.id)]) {
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toEqual(["a", "b"]);
  }
});

it("a stream resumes through a connection that breaks mid-run, with each event exactly once", async () => {
  const cable = await world.cable();
  // The run lasts 6 s. The connection breaks three times meanwhile, which takes 2.4 s, or more under load.
  const input = { max_tokens: 150, seed: 1, delay_ms: 40 };
  const whole = await world.create("text-generation", input);
  const seen: Event[] = [];
  for (const how of ["after_id", "last-event-id", "after_id"]) {
    const far = world.clientOver(cable);
    const last = seen.at(-1)?.id ?? 0;
    const path = `/predictions/${whole.id}/stream`;
    const stream =
      how === "after_id"
        ? far.events("GET", `${path}?after_id=${last}`)
        : far.events("GET", `${path}?after_id=0`, { headers: { "last-event-id": String(last) } });
    const reading = (async () => {
      for await (const event of stream) {
        seen.push(event);
        if (seen.length === last + 20) cable.cut();
      }
    })();
    await expect(reading).rejects.toThrow();
  }
  expect(seen.length).toBeGreaterThanOrEqual(60);
  const last = seen.at(-1)?.id ?? 0;
  const rest = world.client.events("GET", `/predictions/${whole.id}/stream?after_id=${last}`);
  for await (const event of rest) seen.push(event);
  await endOf(world, whole, "succeeded");
  expect(seen).toEqual(whole.events);
});
