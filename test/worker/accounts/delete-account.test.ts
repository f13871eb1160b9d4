/** Closing an account, which disappears at once, and whose data is removed later. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  giveUp,
  HOUR,
  keysNaming,
  neighbour,
  obey,
  rowsNaming,
  run,
  settled,
  sweeps,
} from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { isUnderWay } from "../support/files.ts";
import { rowOf, tablesOf, tellCounts } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const nobody = new Client(undefined);

test("a closed account's data is removed, and another account is unchanged", async () => {
  const world = await newWorld({ visibility: "public" });
  const other = await neighbour(world);
  const { names, objects, pending, running, url } = await settled(world, other.model);
  // The counts of runs reach the listings first.
  await tellCounts();
  await sweep();
  const before = await other.state();
  expect(await keysNaming(names)).not.toEqual([]);
  expect(await isUnderWay(pending.key, pending.multipart_id)).toBe(true);
  await giveUp(world);
  await obey(running);
  await sweeps(world);
  advance(48 * HOUR);
  await sweep();

  const left = await rowsNaming([world.username, ...names]);
  const [{ seq } = {}] = await run("SELECT seq FROM users WHERE id = ?", world.user_id);
  expect(left.filter(([, row]) => row.user_id !== other.user_id)).toEqual([
    ["usernames", { username: world.username, user_id: world.user_id }],
    [
      "users",
      expect.objectContaining({
        username: `gone/${seq}`,
        name: "",
        avatar_url: "",
        bio: "",
        urls: "[]",
        location: "",
        company: "",
        operator_since: null,
      }),
    ],
    // The audit log outlives the account.
    ["audit_chains", expect.objectContaining({ account_id: world.user_id })],
  ]);
  expect(await keysNaming(names)).toEqual([]);
  expect(await isUnderWay(pending.key, pending.multipart_id)).toBe(false);
  expect((await nobody.fetch(url)).status).toBe(404);
  expect(await other.state()).toEqual(before);
  // Each object looks for late files once more, and gives up its webhooks.
  for (const object of objects) {
    await eventually(async () => {
      await runDurableObjectAlarm(object);
      expect(await tablesOf(object)).toEqual([]);
    });
  }
});

describe("closing an account", () => {
  test("a closed account's user and models are found by no caller", async () => {
    const world = await newWorld({ visibility: "public" });
    const { username, model, client } = world;
    const word = unique("zebra").replaceAll("-", "");
    await client.ok("PATCH", "/v1/user", { name: word });
    await client.ok("PATCH", `/v1/models/${model}`, { description: word });
    const { client: stranger } = await newUser();
    await stranger.cancel((await stranger.create({ model, input: {} })).body.id);
    await giveUp(world);
    for (const caller of [nobody, stranger]) {
      for (const path of [`users/${username}`, `models/${username}`, `models/${model}`])
        expect((await caller.json("GET", `/v1/${path}`)).status).toBe(404);
      for (const list of [
        "users?page_size=100&sort_direction=desc",
        "models?page_size=100",
        `search/users?q=${word}`,
        `search/users?q=${username}`,
        "search/users?q=leaving",
        `search/models?q=${word}`,
      ]) {
        const { items } = await pageAt<unknown>(caller, `/v1/${list}`);
        expect(JSON.stringify(items)).not.toMatch(new RegExp(`${world.user_id}|${word}|leaving/`));
      }
    }
    expect((await stranger.refused("/v1/predictions", { model, input: {} })).status).toBe(404);
    expect((await operator.json("GET", `/v1/operator/users/${username}/tokens`)).status).toBe(404);
  });

  test("a closed account's tokens end within 10 s, and change nothing until then", async () => {
    const world = await newWorld({ visibility: "public" });
    const reader = await newClient(world.username, { scopes: ["read"] });
    const callers = [world.client, reader];
    for (const caller of callers) await caller.ok("GET", "/v1/user");
    await giveUp(world);
    const change = (body: object) => world.client.json("PATCH", "/v1/user", body);
    for (const body of [{ name: "Ada" }, { username: unique("ada") }, {}])
      expect((await change(body)).status).toBeOneOf([401, 404]);
    advance(10.001);
    for (const caller of callers) expect((await caller.json("GET", "/v1/user")).status).toBe(401);
    expect(await run("SELECT name FROM users WHERE id = ?", world.user_id)).toEqual([{ name: "" }]);
  });

  test("a closed account has no sessions or logins, and its predictions are canceled", async () => {
    const [world, other] = [await newWorld(), await newWorld({ visibility: "public" })];
    const { running, waiting } = await settled(world, other.model);
    await giveUp(world);
    for (const table of ["sessions", "credentials", "passkeys", "invitations"])
      expect(await run(`SELECT * FROM ${table} WHERE user_id = ?`, world.user_id)).toEqual([]);
    expect(await run("SELECT * FROM logins WHERE id = ?", world.user_id)).toEqual([]);
    await obey(running);
    await eventually(async () => expect(await rowOf(waiting)).toMatchObject({ data_removed: 1 }));
  });

  test("an account is unchanged if D1 fails while it is closed", async () => {
    const world = await newWorld({ visibility: "public" });
    const down = vi.spyOn(env.DB, "batch").mockRejectedValue(new Error("D1 is down"));
    await expect(giveUp(world)).rejects.toThrow();
    down.mockRestore();
    await nobody.ok("GET", `/v1/models/${world.model}`);
    await world.client.ok("GET", "/v1/user");
    await giveUp(world);
    expect((await nobody.json("GET", `/v1/users/${world.username}`)).status).toBe(404);
  });
});

describe("the username", () => {
  test("a closed account's username stays taken until the operator releases it", async () => {
    const { user_id, username } = await newUser();
    await giveUp({ user_id });
    const { client: other } = await newUser();
    const taken = async () => [
      (await operator.refused("/v1/operator/users", { username })).status,
      (await other.json("PATCH", "/v1/user", { username })).status,
    ];
    expect(await taken()).toEqual([409, 409]);
    advance(49 * HOUR);
    await sweep();
    expect(await taken()).toEqual([409, 409]);
    await operator.ok("DELETE", `/v1/operator/usernames/${username}`);
    await operator.ok("POST", "/v1/operator/users", { username });
  });
});
