/** The priority of waiting predictions: the requested one, up to the limit of their token. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Token } from "../../../src/protocol/operator.ts";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { rowOf } from "../support/objects.ts";
import { newClient, newWorld, operator, type World } from "../support/world.ts";

/** Returns the priority with which a prediction waits in its pool. */
async function priorityOf({ hardware }: World, id: string): Promise<string | undefined> {
  const pool = env.POOL.getByName(hardware);
  const find = (object_id: string) =>
    runInDurableObject(pool, (_, { storage }) => {
      const query = "SELECT priority FROM waiting WHERE object_id = ?";
      const [row] = storage.sql.exec<{ priority: string }>(query, object_id);
      return row?.priority;
    });
  let found: string | undefined;
  await eventually(async () => {
    found = await find((await rowOf(id))?.object_id ?? "");
    expect(found).toBeDefined();
  });
  return found;
}

const ask = (client: Client, model: string, priority?: string) =>
  client.create({ model, input: {}, ...(priority !== undefined && { priority }) });

describe("a token without a limit", () => {
  test("the priority is the requested one, and normal by default, whichever way the prediction is created", async () => {
    const world = await newWorld();
    const { client, model } = world;
    for (const [asked, given] of [
      [undefined, "normal"],
      ["low", "low"],
      ["high", "high"],
    ] as const) {
      const { body } = await ask(client, model, asked);
      expect(await priorityOf(world, body.id)).toBe(given);
    }
    for (const path of ["predictions", "versions/1/predictions"]) {
      const request = { input: {}, priority: "high" };
      const address = `/v1/models/${model}/${path}`;
      const { body } = await client.json<{ id: string }>("POST", address, request);
      expect(await priorityOf(world, body.id)).toBe("high");
    }
  });

  test("an unknown priority is refused", async () => {
    const { client, model } = await newWorld();
    const { status } = await client.refused("/v1/predictions", {
      model,
      input: {},
      priority: "urgent",
    });
    expect(status).toBe(422);
  });
});

test("a token with a limit of priority gives that one or a lower one, and no higher one", async () => {
  const world = await newWorld();
  const { username, model } = world;
  const held = await newClient(username, { priority: "normal" });
  const low = await newClient(username, { priority: "low" });
  expect(await priorityOf(world, (await ask(low, model)).body.id)).toBe("low");
  expect(await priorityOf(world, (await ask(held, model, "low")).body.id)).toBe("low");
  const { status, body } = await held.refused("/v1/predictions", {
    model,
    input: {},
    priority: "high",
  });
  expect(status).toBe(403);
  expect(body).toMatchObject({
    type: "urn:auspex:forbidden",
    detail:
      "This access token allows at most priority 'normal', not 'high'. Omit 'priority', or use another token.",
  });
  const { items } = await operator.ok<{ items: Token[] }>(
    "GET",
    `/v1/operator/users/${username}/tokens`,
  );
  expect(items.map(({ priority }) => priority)).toEqual(["low", "normal", null]);
});

test("a repeated request with another priority is another request", async () => {
  const { client, model } = await newWorld();
  const headers = { "idempotency-key": "once" };
  const create = (priority: string) =>
    client.post("/v1/predictions", { model, input: {}, priority }, headers);
  expect((await create("low")).status).toBe(202);
  expect((await create("low")).status).toBe(202);
  expect((await create("high")).status).toBe(409);
});
