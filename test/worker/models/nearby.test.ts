/**
 * Lists for visitors come from the nearest copy of D1, which lags behind. Lists for callers, and decisions
 * about access, come from the primary. workerd has one database, which is both.
 */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { forgetHidden } from "../../../src/services/models/public-reads.ts";
import { database } from "../../../src/storage/database.ts";
import { listHidden } from "../../../src/storage/models/models.ts";
import { Client } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  forgetHidden();
});
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const visitor = new Client(undefined);

const LISTS = [
  "/v1/models",
  "/v1/models?sort_by=predictions_count",
  "/v1/search/models?q=story",
  "/v1/model_categories",
  "/v1/hardware",
];

/** Returns a function that lists the sessions with the nearest copy since this call. */
function sessions(): () => (string | undefined)[] {
  const spy = vi.spyOn(env.DB, "withSession");
  return () => spy.mock.calls.map(([constraint]) => constraint);
}

describe.each(LISTS)("%s", (path) => {
  test("a visitor gets the list from the nearest copy", async () => {
    const asked = sessions();
    expect((await visitor.fetch(path)).status).toBe(200);
    expect(asked()).toEqual(["first-unconstrained"]);
  });

  test("a caller gets the list from the primary, which has the caller's own changes", async () => {
    const { client } = await newWorld();
    const asked = sessions();
    expect((await client.fetch(path)).status).toBe(200);
    expect(asked()).toEqual([]);
  });
});

test("decisions about access are read from the primary", async () => {
  const { client, model, username } = await newWorld();
  const shown = await newWorld({ visibility: "public" });
  const asked = sessions();
  expect((await visitor.fetch(`/v1/models/${model}`)).status).toBe(404);
  expect((await visitor.fetch(`/v1/models/${shown.model}`)).status).toBe(200);
  expect((await visitor.fetch(`/v1/models/${shown.model}/versions`)).status).toBe(200);
  expect((await visitor.fetch(`/v1/users/${username}`)).status).toBe(200);
  expect((await client.fetch(`/v1/models/${model}`)).status).toBe(200);
  expect((await client.fetch("/v1/user")).status).toBe(200);
  expect(asked()).toEqual([]);
});

describe("a model that has become private", () => {
  const setVisibility = ({ client, model }: World, visibility: string) =>
    client.ok("PATCH", `/v1/models/${model}`, { visibility });

  const isIn = async (path: string, { username }: World) =>
    (await (await visitor.fetch(path)).text()).includes(`"username":"${username}"`);

  const lists = ({ username }: World) => [
    "/v1/models?page_size=50",
    `/v1/models/${username}`,
    `/v1/search/models?q=${username}`,
  ];

  test("a model that becomes private disappears from visitors' lists at once", async () => {
    const world = await newWorld({ visibility: "public" });
    for (const path of lists(world)) expect([path, await isIn(path, world)]).toEqual([path, true]);
    await setVisibility(world, "private");
    for (const path of lists(world)) expect([path, await isIn(path, world)]).toEqual([path, false]);
    await setVisibility(world, "public");
    for (const path of lists(world)) expect([path, await isIn(path, world)]).toEqual([path, true]);
  });

  test("a model that became private stays out of lists while the copy has it as public", async () => {
    const world = await newWorld({ visibility: "public" });
    await setVisibility(world, "private");
    expect(await isIn("/v1/models?page_size=50", world)).toBe(false);
    // This write bypasses the isolate, which caches the primary's answer for 10 s.
    await env.DB.prepare("UPDATE models SET visibility = 'public' WHERE owner_id = ?")
      .bind(world.user_id)
      .run();
    for (const path of lists(world)) expect([path, await isIn(path, world)]).toEqual([path, false]);
    advance(10.1);
    for (const path of lists(world)) expect([path, await isIn(path, world)]).toEqual([path, true]);
  });

  test("a model that became private is left out before a page is filled, so that pages stay full", async () => {
    const worlds = [];
    for (let n = 0; n < 7; n++) worlds.push(await newWorld({ visibility: "public" }));
    const [first, ...rest] = worlds.toReversed();
    if (!first) throw new Error("no world");
    await setVisibility(first, "private");
    await visitor.fetch("/v1/models");
    await env.DB.prepare("UPDATE models SET visibility = 'public' WHERE owner_id = ?")
      .bind(first.user_id)
      .run();
    const page = await visitor.json<{ items: { owner: { username: string } }[] }>(
      "GET",
      "/v1/models?page_size=5&sort_direction=desc",
    );
    expect(page.body.items.map(({ owner }) => owner.username)).toEqual(
      rest.slice(0, 5).map(({ username }) => username),
    );
  });
});

/** Inserts rows without the API. The triggers note them all the same. */
const insertModels = (user_id: string, count: number, visibility: string) =>
  env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
    INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
    SELECT ?4 || i, ?2, ?4 || i, ?4, '', '', ?3, ?3 FROM n`,
  )
    .bind(count, user_id, Date.now(), visibility)
    .run();

test("private models that were never shown are not among those that are left out", async () => {
  const { user_id, client, username } = await newWorld();
  await insertModels(user_id, 101, "private");
  await client.ok("PATCH", `/v1/models/${username}/private1`, { description: "as before" });
  expect(await listHidden(database(env.DB), 0, 200)).toEqual([]);
});

test("visitors get lists from the primary while over 100 models were hidden lately", async () => {
  const { user_id } = await newWorld();
  await insertModels(user_id, 101, "public");
  const hide = (where: string) =>
    env.DB.prepare(`UPDATE models SET visibility = 'private' WHERE owner_id = ? AND ${where}`)
      .bind(user_id)
      .run();
  await hide("name <> 'public1'");
  const asked = sessions();
  expect((await visitor.fetch("/v1/models")).status).toBe(200);
  expect(asked()).toEqual(["first-unconstrained"]);
  await hide("name = 'public1'");
  forgetHidden();
  expect((await visitor.fetch("/v1/models")).status).toBe(200);
  expect(asked()).toEqual(["first-unconstrained"]);
  advance(86_401);
  expect((await visitor.fetch("/v1/models")).status).toBe(200);
  expect(asked()).toEqual(["first-unconstrained", "first-unconstrained"]);
});
