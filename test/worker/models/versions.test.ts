/** Versions: their numbers, inherited configuration and permitted images. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Model, Version, VersionSummary } from "../../../src/protocol/model.ts";
import worker from "../../../src/worker.ts";
import { newModel, pageAt, publish, referenceOf, VERSION } from "../support/catalogue.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { DIGEST, newUser, newWorld, operator, unique } from "../support/world.ts";

const { client, username } = await newUser();
const bare = async () => referenceOf(await newModel(client));
const versionsOf = (model: string) => `/v1/models/${model}/versions`;
const latestOf = async (model: string) =>
  (await client.ok<Model>("GET", `/v1/models/${model}`)).latest_version;
const refused = (model: string, changes: object) =>
  client.refused(versionsOf(model), { ...VERSION, ...changes });

describe("a version", () => {
  test("a version needs three fields, and all others have a default", async () => {
    const model = await bare();
    const made = await publish(client, model);
    expect(made).toEqual({
      number: 1,
      release_notes: "",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      container_image_digest: DIGEST,
      status: "ready",
      schemas: { prediction: { input: {}, output: {}, stream_output: false } },
      compatibilities: {
        vendora_chat_completions: false,
        vendora_images_generations: false,
        vendora_embeddings: false,
        vendora_responses: false,
        vendorb_messages: false,
        vendora_images_edits: false,
        vendora_audio_transcriptions: false,
        vendora_audio_translations: false,
        vendora_audio_speech: false,
        vendora_completions: false,
        vendora_moderations: false,
        vendora_rerank: false,
      },
      size: 0,
      configuration: { isolation: "model", egress: "public" },
    });
    expect(await client.ok("GET", `${versionsOf(model)}/1`)).toEqual(made);
    expect(await latestOf(model)).toEqual(made);
  });

  test("a version takes every field", async () => {
    const hardware = unique("hw");
    await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: "x" });
    const given = {
      release_notes: "x".repeat(255),
      schemas: {
        prediction: {
          input: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
          output: { type: "array" },
          stream_output: true,
        },
      },
      compatibilities: { vendora_embeddings: true },
      configuration: {
        hardware_identifier: hardware,
        variable_names: ["HF_TOKEN"],
        interface: "vendora",
        timeout_seconds: 60,
        max_concurrency: 4,
        idle_seconds: 0,
        egress: ["huggingface.co", "*.hf.co:8443"],
      },
    };
    const model = await bare();
    expect(await publish(client, model, given)).toMatchObject(given);
    expect(await latestOf(model)).toMatchObject(given);
  });

  test("a version has a short form in lists, newest first", async () => {
    const model = await bare();
    const made: Version[] = [];
    for (const release_notes of ["one", "two", "three"])
      made.unshift(await publish(client, model, { release_notes }));
    const { items } = await pageAt<VersionSummary>(client, versionsOf(model));
    expect(items).toEqual(
      made.map(({ number, release_notes, created_at, container_image_digest }) => ({
        number,
        release_notes,
        created_at,
        container_image_digest,
      })),
    );
  });

  test.each([0, 2, 999_999_999])("a version with the number %d is not found", async (number) => {
    const model = await bare();
    await publish(client, model);
    for (const method of ["GET", "DELETE"] as const) {
      const { status } = await client.json(method, `${versionsOf(model)}/${number}`);
      expect(status).toBe(number === 0 ? 422 : 404);
    }
  });

  test.each([
    [["release_notes"], { release_notes: "x".repeat(256) }],
    [["release_notes"], { release_notes: undefined }],
    [["container_image_digest"], { container_image_digest: DIGEST.toUpperCase() }],
    [["schemas"], { schemas: undefined }],
    [["schemas", "prediction", "output"], { schemas: { prediction: { input: {} } } }],
    [
      ["schemas"],
      { schemas: { prediction: { input: { description: "x".repeat(100_000) }, output: {} } } },
    ],
    [["configuration", "hardware_identifier"], { configuration: { hardware_identifier: "none" } }],
    [["configuration", "hardware_identifier"], { configuration: { hardware_identifier: "" } }],
    [["configuration", "image"], { configuration: { image: "" } }],
    [["compatibilities", "vendora_responses"], { compatibilities: { vendora_responses: "yes" } }],
  ])("a version with wrong %j is refused, and takes no number", async (loc, changes) => {
    const model = await bare();
    const { status, body } = await refused(model, changes);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", ...loc] }]);
    expect(await publish(client, model)).toMatchObject({ number: 1 });
  });
});

describe("numbers", () => {
  test("version numbers rise by one, also if twenty are published at once", async () => {
    const model = await bare();
    const made = await Promise.all(Array.from({ length: 20 }, () => publish(client, model)));
    const numbers = made.map(({ number }) => number).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    expect((await latestOf(model))?.number).toBe(20);
  });

  test("version numbers are never used again, also when all versions are deleted", async () => {
    const model = await bare();
    for (let n = 0; n < 3; n++) await publish(client, model);
    for (const number of [3, 1, 2]) {
      await client.ok("DELETE", `${versionsOf(model)}/${number}`);
      expect((await client.json("GET", `${versionsOf(model)}/${number}`)).status).toBe(404);
    }
    expect(await latestOf(model)).toBeNull();
    expect((await pageAt(client, versionsOf(model))).items).toEqual([]);
    expect((await publish(client, model)).number).toBe(4);
  });
});

describe("the configuration", () => {
  test("the configuration is inherited from the latest version that is not deleted", async () => {
    const model = await bare();
    const configured = async (configuration?: object) =>
      (await publish(client, model, configuration ? { configuration } : {})).configuration;
    const told = { isolation: "model", egress: "public" };
    expect(await configured({ timeout_seconds: 10 })).toEqual({ ...told, timeout_seconds: 10 });
    expect(await configured()).toEqual({ ...told, timeout_seconds: 10 });
    expect(await configured({ idle_seconds: 5 })).toEqual({ ...told, idle_seconds: 5 });
    expect(await configured()).toEqual({ ...told, idle_seconds: 5 });
    for (const number of [4, 3]) await client.ok("DELETE", `${versionsOf(model)}/${number}`);
    expect(await configured()).toEqual({ ...told, timeout_seconds: 10 });
    expect(await configured({})).toEqual(told);
    expect(await configured()).toEqual(told);
  });

  test.each([
    [{ egress: ["10.0.0.1"] }, "egress"],
    [{ egress: "huggingface.co" }, "Use 'none', 'public' or a list of hosts"],
    // A misspelt `egress` is refused, because the default is public.
    [{ egres: "none" }, "egres"],
  ])("a configuration of %j is refused", async (configuration, word) => {
    const model = await bare();
    const { status, body } = await refused(model, { configuration });
    expect(status).toBe(422);
    expect(JSON.stringify(body.detail)).toContain(word);
  });

  test("a configuration's image reaches the runner, also when it is inherited", async () => {
    const world = await newWorld();
    const repository = `${env.IMAGE_REGISTRY}/${world.username}/elsewhere`;
    const configuration = { image: repository, hardware_identifier: world.hardware };
    await publish(world.client, world.model, { configuration });
    await publish(world.client, world.model);
    const runner = await world.runner();
    for (const number of [2, 3]) {
      await world.client.create({ model: `${world.model}:${number}`, input: {} });
      const job = await runner.take();
      expect(job).toMatchObject({ image: { repository, digest: DIGEST } });
      await (await runner.connect(job)).succeed();
    }
  });
});

describe("an image", () => {
  const images = (path: string) => ({ configuration: { image: `${env.IMAGE_REGISTRY}/${path}` } });

  test("an image can be in any repository below the publisher's name", async () => {
    const made = await publish(client, await bare(), images(`${username}/any/where`));
    expect(made.configuration).toMatchObject(images(`${username}/any/where`).configuration);
  });

  test("an image of another user or registry is refused", async () => {
    const { username: other } = await newUser();
    const model = await bare();
    for (const given of [
      images(`${other}/story`),
      images(`${username}x/story`),
      images(username),
      images(""),
      images(`${username}/../${other}/story`),
      images(`${username}//story`),
      images(`${username}/story:latest`),
      images(`${username}/story@${DIGEST}`),
      { configuration: { image: `example.com/${username}/story` } },
    ]) {
      const { status, body } = await refused(model, given);
      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ loc: ["body", "configuration", "image"] }]);
    }
  });

  test("an image that the operator allows can be published by any user", async () => {
    const allowing = { ...env, IMAGE_ALLOW_LIST: "ghcr.io/acme/one, docker.io/library/*" };
    const model = await bare();
    const statusOf = async (image: string) => {
      const { status } = await post(client, versionsOf(model), allowing, image);
      return status;
    };
    expect(await statusOf("ghcr.io/acme/one")).toBe(200);
    expect(await statusOf("docker.io/library/python")).toBe(200);
    expect(await statusOf("ghcr.io/acme/one/more")).toBe(422);
    expect(await statusOf("ghcr.io/acme/two")).toBe(422);
    expect(await statusOf("docker.io/libraryx/python")).toBe(422);
  });
});

/** Publishes on a deployment with other variables. */
function post(of: Client, path: string, bindings: typeof env, image: string): Promise<Response> {
  const request = new Request(`${ORIGIN}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${of.token}`, "content-type": "application/json" },
    body: JSON.stringify({ ...VERSION, configuration: { image } }),
  });
  return Promise.resolve(worker.fetch(request, bindings, createExecutionContext()));
}
