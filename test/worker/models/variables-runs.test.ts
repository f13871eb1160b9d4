/** A model's variables, which reach its containers and nothing else. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { encrypt } from "../../../src/domain/encryption.ts";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { changeSpec, objectOf, rowOf, textIn } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { setVariable, variablesAt } from "../support/variables.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const SECRET = "hunter2-is-the-value";
const WANTED = ["HF_TOKEN", "API_KEY", "UNSET"];

const newModel = () => newWorld({ configuration: { variable_names: WANTED } });

async function withVariables(): Promise<World> {
  const world = await newModel();
  await setVariable(world.client, world.model, "HF_TOKEN", SECRET);
  await setVariable(world.client, world.model, "API_KEY", "🔑\nlines");
  await setVariable(world.client, world.model, "UNWANTED", "not for this version");
  return world;
}

const BOTH = { HF_TOKEN: SECRET, API_KEY: "🔑\nlines" };

describe("a job's variables", () => {
  test("a runner that waits for a job gets the variables that the version names", async () => {
    const world = await withVariables();
    const runner = await world.runner();
    const polling = runner.take();
    const pool = env.POOL.getByName(world.hardware);
    await eventually(async () => expect((await pool.status()).free).toBe(1));
    await world.waiting();
    expect(await polling).toMatchObject({ attempt: 1 });
    expect((await polling).variables).toEqual(BOTH);
  });

  test("a job that waits for its runner has the variables, also in a further attempt", async () => {
    const world = await withVariables();
    const id = await world.waiting();
    const runner = await world.runner();
    const { job } = await runner.work();
    expect(job.variables).toEqual(BOTH);
    await passes(31, id);
    const second = await runner.work();
    expect([second.job.attempt, second.job.variables]).toEqual([job.attempt + 1, BOTH]);
  });

  test("a job has variables if its caller names the version or uses the OpenAI convention", async () => {
    const world = await newWorld({
      configuration: { variable_names: ["HF_TOKEN"] },
      compatibilities: { vendora_responses: true },
    });
    const { client, model } = world;
    await setVariable(client, model, "HF_TOKEN", SECRET);
    const runner = await world.runner(2);
    await client.create({ model: `${model}:1`, input: {} });
    expect((await runner.take()).variables).toEqual({ HF_TOKEN: SECRET });
    const body = { model, input: "Go on", background: true };
    expect((await client.json("POST", "/v1/vendora/responses", body)).status).toBe(202);
    expect((await runner.take()).variables).toEqual({ HF_TOKEN: SECRET });
  });

  test("a job has no variables if the model has none", async () => {
    const world = await newModel();
    await world.waiting();
    expect((await (await world.runner()).take()).variables).toEqual({});
  });
});

describe("a change of variables", () => {
  /** The run ends, because a job whose runner does not connect is offered to the next one after a second. */
  const handed = async (world: World) => {
    await world.waiting();
    const { channel, job } = await (await world.runner()).work();
    await channel.succeed("done");
    return job.variables;
  };

  test("a change of variables applies to the next prediction, not to those that have begun", async () => {
    const world = await withVariables();
    const { client, model } = world;
    await world.waiting();
    await setVariable(client, model, "HF_TOKEN", "changed");
    await client.ok("DELETE", variablesAt(model, "API_KEY"));
    expect((await (await world.runner()).take()).variables).toEqual(BOTH);
    expect(await handed(world)).toEqual({ HF_TOKEN: "changed" });
  });

  test("a change of variables by another isolate is known within 10 s", async () => {
    const world = await withVariables();
    expect(await handed(world)).toEqual(BOTH);
    await env.DB.prepare("DELETE FROM model_variables WHERE name = 'API_KEY'").run();
    expect(await handed(world)).toEqual(BOTH);
    advance(10.1);
    expect(await handed(world)).toEqual({ HF_TOKEN: SECRET });
  });
});

test("containers are shared until a variable of the version is set again", async () => {
  const world = await withVariables();
  const { client, model } = world;
  const key = async () => {
    await world.waiting();
    return (await (await world.runner()).take()).keys.container;
  };
  const first = await key();
  await setVariable(client, model, "UNWANTED", "changed");
  expect(await key()).toBe(first);
  await setVariable(client, model, "HF_TOKEN", SECRET);
  expect(await key()).not.toBe(first);
});

test("a create sends D1 no more statements for a model with variables", async () => {
  const world = await withVariables();
  const plain = await newWorld();
  const asked = async ({ client, model }: World) => {
    await client.create({ model, input: {} });
    const prepare = vi.spyOn(env.DB, "prepare");
    await client.create({ model, input: {} });
    const statements = prepare.mock.calls.map(([sql]) => sql);
    prepare.mockRestore();
    return statements;
  };
  const statements = await asked(world);
  expect(statements).toEqual([]);
  expect(statements).toEqual(await asked(plain));
});

/** Returns all that a prediction object stores, and its row of the index. */
async function atRest(id: string): Promise<string> {
  return (await textIn(await objectOf(id))) + JSON.stringify(await rowOf(id));
}

test("a variable's value is in no storage, event, answer or line of the log", async () => {
  const lines: unknown[] = [];
  for (const level of ["debug", "log", "info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((...line) => void lines.push(line));
  const world = await withVariables();
  const { client, model } = world;
  const id = await world.waiting();
  expect(await atRest(id)).toMatch(/"HF_TOKEN\\*":\\*"v1\./);
  const runner = await world.runner();
  const { channel, job } = await runner.work();
  expect(job.variables).toEqual(BOTH);
  await channel.succeed("done");
  await sweep();
  const texts = [await atRest(id), JSON.stringify(lines)];
  const pathsOf = (of: string) => [`/v1/predictions/${of}`, `/v1/predictions/${of}/stream`];
  for (const path of [...pathsOf(id), `/v1/models/${model}`, `/v1/models/${model}/versions/1`])
    texts.push(await (await client.fetch(path)).text());
  for (const text of texts) expect(text).not.toContain(SECRET);
});

describe("variables that no key decrypts", () => {
  /** Seals a variable with a key that is lost, as if SECRET_KEY had been replaced. */
  async function losesKey(world: World): Promise<void> {
    const { id } = await world.client.ok<{ id: string }>("GET", `/v1/models/${world.model}`);
    const lost = { secrets: ["a-key-that-is-lost-0123456789-0123"], purpose: "variables" as const };
    const sealed = await encrypt({ ...lost, context: `${id}:HF_TOKEN` }, SECRET);
    const statement = "UPDATE model_variables SET sealed = ? WHERE model_id = ? AND name = ?";
    await env.DB.prepare(statement).bind(sealed, id, "HF_TOKEN").run();
    advance(10.1);
  }

  /** Changes a prediction as if it had been created before SECRET_KEY was replaced. */
  async function losesKeyOf(id: string): Promise<void> {
    const stub = await objectOf(id);
    await changeSpec(stub, (spec) => {
      const sealed = spec.variables.HF_TOKEN ?? "";
      const HF_TOKEN = sealed.replace(/^v1\.[0-9a-f]{8}/, "v1.00000000");
      expect(HF_TOKEN).not.toBe(sealed);
      return { ...spec, variables: { ...spec.variables, HF_TOKEN } };
    });
    await evictDurableObject(stub);
  }

  const ended = async (client: Client, id: string) => {
    const full = await client.get(id);
    expect(full).toMatchObject({
      status: "failed",
      error: { source: "internal", message: expect.stringContaining("SECRET_KEY") },
    });
    expect(JSON.stringify(full)).not.toContain(SECRET);
    const events = await (await client.stream(id)).text();
    expect(events.match(/^event: \w+/gm)).toEqual([
      "event: status",
      "event: error",
      "event: status",
      "event: done",
    ]);
  };

  test("a prediction fails at once, and an error is logged", async () => {
    const log = captureLog("error");
    const world = await withVariables();
    await losesKey(world);
    const { body } = await world.client.create(
      { model: world.model, input: {} },
      { prefer: "wait=30" },
    );
    expect(body.status).toBe("failed");
    await ended(world.client, body.id);
    await eventually(async () => expect(await rowOf(body.id)).toMatchObject({ status: "failed" }));
    expect(log.entries()).toEqual([
      {
        level: "error",
        message: "Variables not decrypted",
        prediction_id: body.id,
        model_id: expect.any(String),
        error: expect.stringContaining("SECRET_KEY"),
      },
    ]);
    expect(JSON.stringify(log.mock.calls)).not.toContain(SECRET);
    // Another prediction of the same hardware goes on.
    await setVariable(world.client, world.model, "HF_TOKEN", "anew");
    const next = await world.waiting();
    expect(await (await world.runner()).take()).toMatchObject({ prediction_id: next });
  });

  test("a prediction that waited fails in its turn, and its runner gets the next job", async () => {
    captureLog("error");
    const world = await withVariables();
    const first = await world.waiting();
    const second = await world.waiting();
    const pool = env.POOL.getByName(world.hardware);
    await eventually(async () => expect((await pool.status()).waiting).toBe(2));
    await losesKeyOf(first);
    expect(await (await world.runner()).take()).toMatchObject({ prediction_id: second });
    await ended(world.client, first);
  });

  test("a prediction fails if a sealed value was moved from another model or name", async () => {
    captureLog("error");
    for (const column of ["model_id", "name"]) {
      const [world, other] = [await withVariables(), await withVariables()];
      const { id } = await world.client.ok<{ id: string }>("GET", `/v1/models/${world.model}`);
      const { id: otherId } = await other.client.ok<{ id: string }>(
        "GET",
        `/v1/models/${other.model}`,
      );
      const from = column === "name" ? [id, "API_KEY"] : [otherId, "HF_TOKEN"];
      await env.DB.prepare(
        `UPDATE model_variables SET sealed =
          (SELECT sealed FROM model_variables WHERE model_id = ? AND name = ?)
        WHERE model_id = ? AND name = 'HF_TOKEN'`,
      )
        .bind(...from, id)
        .run();
      const made = await world.client.create({ model: world.model, input: {} });
      expect([column, made.body.status]).toEqual([column, "failed"]);
      await ended(world.client, made.body.id);
    }
  });

  test("a create that is repeated with its Idempotency-Key finds the failed prediction", async () => {
    captureLog("error");
    const world = await withVariables();
    await losesKey(world);
    const create = () =>
      world.client.create({ model: world.model, input: {} }, { "idempotency-key": "k" });
    const [one, again] = [await create(), await create()];
    expect([one.body.status, again.body.status]).toEqual(["failed", "failed"]);
    expect(again.body.id).toBe(one.body.id);
  });
});
