/** First starts with unusable descriptions, and of a full account. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { settings } from "../../../src/env.ts";
import { MAX_DESCRIPTION } from "../../../src/protocol/runner.ts";
import { COG_0_22, openapiOf } from "../../domain/images/samples.ts";
import { run } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { newServer, start, versionOf } from "../support/first-starts.ts";
import { captureLog } from "../support/log.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("a first start", () => {
  test("a first start completes a Cog model without labels from its OpenAPI document", async () => {
    const world = await newServer({ Cmd: ["python", "-m", "cog.server.http"] });
    await start(world, { openapi: COG_0_22 });
    await eventually(async () =>
      expect(await versionOf(world)).toMatchObject({
        status: "ready",
        schemas: { prediction: { input: { required: ["messages"] } } },
        compatibilities: { vendora_chat_completions: true },
      }),
    );
  });

  test("a first start with unusable schemas makes the version accept any input", async () => {
    const world = await newServer({});
    const Input = { $ref: "#/components/schemas/Nothing" };
    await start(world, { openapi: openapiOf({ Input, Output: {} }) });
    await eventually(async () =>
      expect(await versionOf(world)).toMatchObject({
        status: "ready",
        schemas: { prediction: { input: { type: "object" }, output: {} } },
      }),
    );
  });

  test("a first start with schemas that are too large makes the version accept any input", async () => {
    const world = await newServer({});
    const Input = { type: "object", description: "x".repeat(100_000) };
    await start(world, { openapi: openapiOf({ Input, Output: {} }) });
    await eventually(async () =>
      expect(await versionOf(world)).toMatchObject({
        status: "ready",
        schemas: { prediction: { input: { type: "object" }, output: {} } },
      }),
    );
  });

  test("a first start completes no version of a full account, until it has room again", async () => {
    const world = await newServer({});
    const use = (bytes: number) =>
      run("UPDATE account_bytes SET bytes = bytes + ? WHERE user_id = ?", bytes, world.user_id);
    const used = async () =>
      Number(
        (await run("SELECT bytes FROM account_bytes WHERE user_id = ?", world.user_id))[0]?.bytes,
      );
    const others = settings(env).accountBytes - (await used()) - 1_000;
    await use(others);
    const full = await used();
    const Input = { type: "object", description: "x".repeat(2_000) };
    const told = { openapi: openapiOf({ Input, Output: {} }) };
    const warned = captureLog("warn");
    await start(world, told);
    await eventually(async () =>
      expect(warned.entries()).toContainEqual(
        expect.objectContaining({ message: "Version not completed: its account is full" }),
      ),
    );
    warned.mockRestore();
    expect(await versionOf(world)).toMatchObject({ status: "awaiting_first_start" });
    expect(await used()).toBe(full);
    await use(-others);
    await start(world, told);
    await eventually(async () =>
      expect(await versionOf(world)).toMatchObject({
        status: "ready",
        schemas: { prediction: { input: Input } },
      }),
    );
    expect(await used()).toBeGreaterThan(full - others + 2_000);
  });
});

test("a description that is too long counts as none, and the run ends", async () => {
  const world = await newServer();
  const { channel, id } = await world.begun();
  const description = { models: "x".repeat(MAX_DESCRIPTION + 1) };
  await channel.report([], { status: "succeeded", output: "none", description });
  const { body } = await world.client.json("GET", `/v1/predictions/${id}`);
  expect(body).toMatchObject({ status: "succeeded" });
  expect(await versionOf(world)).toMatchObject({ status: "awaiting_first_start" });
});
