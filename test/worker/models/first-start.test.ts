/** A version that waits for its first start, which completes it once. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Version } from "../../../src/protocol/model.ts";
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import { run } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { newServer, start, versionOf } from "../support/first-starts.ts";
import { Images } from "../support/images.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const chats: ServerDescription = {
  openapi: JSON.stringify({ openapi: "3.1.0", paths: { "/v1/chat/completions": {} } }),
};
const embeds: ServerDescription = { info: '{"model_type":{"embedding":{}}}' };

describe("a first start", () => {
  test("a first start completes the version, and a later one changes nothing", async () => {
    const world = await newServer();
    expect(await versionOf(world)).toMatchObject({ status: "awaiting_first_start" });
    const job = await start(world, chats);
    expect(job).toMatchObject({ describe: true, interface: "vendora" });
    await eventually(async () =>
      expect(await versionOf(world)).toMatchObject({
        status: "ready",
        schemas: { prediction: { input: { required: ["messages"] }, stream_output: true } },
        compatibilities: { vendora_chat_completions: true, vendora_responses: true },
      }),
    );
    const complete = await versionOf(world);
    // Versions are cached for 10 s, so jobs until then still ask for a description.
    await start(world, embeds);
    advance(11);
    expect(await start(world, embeds)).not.toHaveProperty("describe");
    expect(await versionOf(world)).toEqual(complete);
  });

  test("a first start without a description leaves the version waiting for the next one", async () => {
    const world = await newServer();
    await start(world);
    expect(await versionOf(world)).toMatchObject({ status: "awaiting_first_start" });
    await start(world, embeds);
    await eventually(async () =>
      expect(await versionOf(world)).toMatchObject({
        status: "ready",
        compatibilities: { vendora_chat_completions: false, vendora_embeddings: true },
      }),
    );
  });

  test("an account's bytes grow with a first start, and fall when the version is deleted", async () => {
    const world = await newWorld();
    const { user_id } = world;
    const weight = async () =>
      Number((await run("SELECT bytes FROM account_bytes WHERE user_id = ?", user_id))[0]?.bytes);
    const images = new Images(world.client, world.model);
    await images.push("v1", { Entrypoint: ["vllm", "serve"] });
    const before = await weight();
    await images.publish({ image: "v1", configuration: {} });
    const waiting = await weight();
    await start(world, chats);
    await eventually(async () => expect(await weight()).toBeGreaterThan(waiting));
    await world.client.ok("DELETE", `/v1/models/${world.model}/versions/2`);
    expect(await weight()).toBe(before);
  });
});

test("a description that the job did not ask for is ignored", async () => {
  const world = await newWorld();
  await start(world, chats);
  const { body } = await world.client.json<Version>("GET", `/v1/models/${world.model}/versions/1`);
  expect(body).toMatchObject({
    status: "ready",
    compatibilities: { vendora_chat_completions: false },
  });
});

describe("before the first start", () => {
  test("the conventions' endpoints say that the version has not been started", async () => {
    const { client, model } = await newServer();
    const messages = [{ role: "user", content: "Hi" }];
    const { status, body } = await client.json("POST", "/v1/vendora/chat/completions", {
      model,
      messages,
    });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        code: "unsupported_model",
        message: expect.stringContaining("has not started yet"),
      },
    });
  });

  test("the version before answers the conventions' calls, unless they name the new one", async () => {
    const world = await newServer();
    const { client, model } = world;
    await start(world, chats);
    await eventually(async () => expect(await versionOf(world)).toMatchObject({ status: "ready" }));
    const images = new Images(client, model);
    await images.push("v2", { Entrypoint: ["vllm", "serve"], Labels: { v: "2" } });
    await images.publish({ image: "v2", configuration: {} });
    advance(11);
    const ask = (model: string) =>
      client.json("POST", "/v1/vendora/responses", { model, input: "Hi", background: true });
    const listed = async () =>
      (await client.json<{ data: { id: string }[] }>("GET", "/v1/vendora/models")).body.data;
    expect(await ask(model)).toMatchObject({ status: 202 });
    expect((await world.begun()).job).toMatchObject({ model: { version_number: 2 } });
    expect(await listed()).toEqual([expect.objectContaining({ id: model })]);
    expect((await client.json("GET", `/v1/vendora/models/${model}`)).status).toBe(200);
    expect((await ask(`${model}:3`)).status).toBe(400);
    // Version 3 may answer calls that version 2 cannot.
    const embeddings = { model, input: "Hi" };
    expect((await client.json("POST", "/v1/vendora/embeddings", embeddings)).body).toMatchObject({
      error: { message: expect.stringContaining("Version 3") },
    });
  });

  test("Validate-Input accepts any object", async () => {
    const world = await newServer();
    const { client, model } = world;
    const headers = { "validate-input": "true" };
    const { status } = await client.create({ model, input: { anything: 1 } }, headers);
    expect(status).toBe(202);
  });
});
