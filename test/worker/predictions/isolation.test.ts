/** Isolation of containers: which runs share one, what runners receive of it, and what callers can read. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Isolation, Model, Version } from "../../../src/protocol/model.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import worker from "../../../src/worker.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { DIGEST, newWorld, type World } from "../support/world.ts";

const VERSION = {
  release_notes: "",
  container_image_digest: DIGEST,
  schemas: { prediction: { input: {}, output: {} } },
};

const isolated = (isolation: Isolation) =>
  newWorld({
    visibility: "public",
    configuration: { isolation, max_concurrency: 4, idle_seconds: 60 },
  });

async function jobFor(world: World, client: Client): Promise<Job> {
  await client.create({ model: world.model, input: {} });
  const runner = await world.runner();
  const job = await runner.take();
  // A job whose runner does not connect is soon given to the next runner as well.
  await runner.connect(job);
  return job;
}

/** The containers of two runs of the owner and one of a stranger, and the files' keys. */
async function keysIn(world: World) {
  const stranger = await world.stranger();
  const jobs = [];
  for (const client of [world.client, world.client, stranger])
    jobs.push(await jobFor(world, client));
  return {
    containers: jobs.map(({ keys }) => keys.container),
    files: jobs.map(({ keys }) => keys.files),
    limits: jobs.map(({ limits }) => limits),
  };
}

test("isolation by model shares a container among all accounts, and keeps the files of each account apart", async () => {
  const { containers, files, limits } = await keysIn(await isolated("model"));
  expect(new Set(containers)).toHaveLength(1);
  expect(files[0]).toBe(files[1]);
  expect(files[2]).not.toBe(files[0]);
  expect(limits[0]).toMatchObject({ max_concurrency: 4, idle_seconds: 60 });
});

test("isolation by account gives a stranger's run another container", async () => {
  const { containers, limits } = await keysIn(await isolated("account"));
  expect(containers[0]).toBe(containers[1]);
  expect(containers[2]).not.toBe(containers[0]);
  expect(limits[2]).toMatchObject({ max_concurrency: 4, idle_seconds: 60 });
});

test("isolation by prediction gives each run a container of its own, which ends with it", async () => {
  const { containers, limits } = await keysIn(await isolated("prediction"));
  expect(new Set(containers)).toHaveLength(3);
  for (const limit of limits) expect(limit).toMatchObject({ max_concurrency: 1, idle_seconds: 0 });
});

test("two models share no container, though they name the same image", async () => {
  const [one, other] = [await isolated("model"), await isolated("model")];
  const allowing = { ...env, IMAGE_ALLOW_LIST: "ghcr.io/acme/shared" };
  for (const { client, model } of [one, other]) {
    const response = await worker.fetch(
      new Request(`${ORIGIN}/v1/models/${model}/versions`, {
        method: "POST",
        headers: { authorization: `Bearer ${client.token}`, "content-type": "application/json" },
        body: JSON.stringify({ ...VERSION, configuration: { image: "ghcr.io/acme/shared" } }),
      }),
      allowing,
      createExecutionContext(),
    );
    expect(response.status).toBe(200);
  }
  const [mine, theirs] = [await jobFor(one, one.client), await jobFor(other, other.client)];
  expect(mine.image).toEqual(theirs.image);
  expect(mine.keys.container).not.toBe(theirs.keys.container);
});

test("setup logs of a container are sent only for runs of the model's owner", async () => {
  const world = await isolated("model");
  expect(await jobFor(world, world.client)).toMatchObject({ setup_logs: true });
  expect(await jobFor(world, await world.stranger())).toMatchObject({ setup_logs: false });
});

describe("configurations that callers read", () => {
  test("a version without a configuration shows the defaults", async () => {
    const { client, model } = await newWorld();
    const { body } = await client.json<Version>("GET", `/v1/models/${model}/versions/1`);
    expect(body.configuration).toEqual({ isolation: "model", egress: "public" });
    const { body: whole } = await client.json<Model>("GET", `/v1/models/${model}`);
    expect(whole.latest_version?.configuration).toEqual({ isolation: "model", egress: "public" });
  });

  test("a version shows the isolation of its publication, and later versions inherit it", async () => {
    const world = await isolated("prediction");
    const stranger = await world.stranger();
    await world.client.post(`/v1/models/${world.model}/versions`, VERSION);
    const { body } = await stranger.json<Version>("GET", `/v1/models/${world.model}/versions/2`);
    expect(body.configuration).toMatchObject({ isolation: "prediction", max_concurrency: 4 });
  });

  test("an isolation is one of three", async () => {
    const { client, model } = await newWorld();
    const { status, body } = await client.json("POST", `/v1/models/${model}/versions`, {
      ...VERSION,
      configuration: { isolation: "none" },
    });
    expect([status, body]).toMatchObject([
      422,
      { detail: [{ loc: ["body", "configuration", "isolation"] }] },
    ]);
  });
});
