/** Webhooks of runs that end otherwise, and of values that just fit. */
import { describe, expect, test } from "vitest";
import { storeValue } from "../support/files.ts";
import { addressOf, freshPath } from "../support/receiver.ts";
import { eventsOf, told, watched } from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

describe("a webhook", () => {
  test("a run that ends at once still posts started before completed", async () => {
    const { path, channel } = await watched();
    await channel.succeed("all of it");
    expect(eventsOf(await told(path, 2))).toEqual([
      ["started", "started", null],
      ["completed", "succeeded", ["all of it"]],
    ]);
  });

  test("a cancel before the start posts completed", async () => {
    const { client, model } = await newWorld();
    const path = freshPath();
    const webhook = { url: addressOf(path) };
    const { body } = await client.create({ model, input: {}, webhook });
    await client.cancel(body.id);
    expect(eventsOf(await told(path, 1))).toEqual([["completed", "canceled", null]]);
  });

  test("a failure posts completed with its error", async () => {
    const { path, channel } = await watched({ events: ["completed"] });
    const error = { source: "external", message: "It broke.", detail: { line: 3 } } as const;
    await channel.report([], { status: "failed", output: "none", error });
    expect((await told(path, 1))[0]).toMatchObject({ status: "failed", error });
  });
});

describe("large values", () => {
  test("values up to 1 MiB are posted, also those in R2", async () => {
    const input = { text: "i".repeat(900_000) };
    const { path, job, runner, channel } = await watched({ input, events: ["completed"] });
    const value = "v".repeat(900_000);
    await channel.report([await storeValue(runner, job, value)]);
    await channel.report([], { status: "succeeded", output: "value" });
    const [completed] = await told(path, 1);
    expect(completed).toMatchObject({ input, output: value, data_omitted: false });
  });
});
