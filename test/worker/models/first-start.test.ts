/** A version that waits for its first start, which completes it once. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { settings } from "../../../src/env.ts";
import type { Version } from "../../../src/protocol/model.ts";
import { MAX_DESCRIPTION, type ServerDescription } from "../../../src/protocol/runner.ts";
import { COG_0_22, openapiOf } from "../../domain/images/samples.ts";
import { run } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { Images } from "../support/images.ts";
import { captureLog } from "../support/log.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Publishes an image of this registry whose configuration is only `config`. */
async function publishServer(world: World, config: object): Promise<World> {
  const images = new Images(world.client, world.model);
  await images.push("v1", config);
  await images.publish({ image: "v1", configuration: {} });
  return world;
}

const newServer = async (config: object = { Entrypoint: ["vllm", "serve"] }) =>
  publishServer(await newWorld(), config);

const versionOf = async ({ client, model }: World) =>
  (await client.json<Version>("GET", `/v1/models/${model}/versions/2`)).body;

async function start(world: World, description?: ServerDescription, status = "succeeded" as const) {
  const { job, channel, runner } = await world.begun();
  const told = description && { description };
  await channel.report([], { status, output: "none", ...told });
  // Without this report, the next prediction would wait for this container.
  await runner.tell({ state: "stopped" });
  return job;
}

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

test("a description that is too long counts as none, and the run ends", async () => {
  const world = await newServer();
  const { channel, id } = await world.begun();
  const description = { models: "x".repeat(MAX_DESCRIPTION + 1) };
  await channel.report([], { status: "succeeded", output: "none", description });
  const { body } = await world.client.json("GET", `/v1/predictions/${id}`);
  expect(body).toMatchObject({ status: "succeeded" });
  expect(await versionOf(world)).toMatchObject({ status: "awaiting_first_start" });
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
