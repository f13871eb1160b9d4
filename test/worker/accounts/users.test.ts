/** Users: the caller's profile, its changes, and the list of all. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { VERIFIER } from "../../../src/protocol/user.ts";
import worker from "../../../src/worker.ts";
import { newModel, type Page, pageAt } from "../support/catalogue.ts";
import { type Client, ORIGIN, type Refusal } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

interface User {
  id: string;
  username: string;
  updated_at: string;
  [field: string]: unknown;
}

const own = (client: Client) => client.ok<User>("GET", "/v1/user");
const change = (client: Client, changes: object) => client.ok<User>("PATCH", "/v1/user", changes);
const refused = (client: Client, changes: object) =>
  client.json<Refusal>("PATCH", "/v1/user", changes);

describe("the own profile", () => {
  test("a profile has the documented shape for its user and for others", async () => {
    const { client, username, user_id } = await newUser();
    const now = new Date().toISOString();
    const expected = {
      id: user_id,
      kind: "user",
      username,
      avatar_url: "",
      name: "",
      bio: "",
      urls: [],
      location: "",
      company: "",
      created_at: now,
      updated_at: now,
    };
    expect(await own(client)).toEqual({ ...expected, organizations: [] });
    const { client: stranger } = await newUser();
    expect(await stranger.ok("GET", `/v1/users/${username}`)).toEqual(expected);
  });

  const filled = {
    name: "Ada Lovelace",
    bio: "Notes\non the engine 🛠",
    urls: ["https://ada.example/"],
    location: "London",
    company: "Analytical Engines",
  };

  test.each([
    ["name", "Augusta Ada King"],
    ["bio", "’; DROP TABLE users; --"],
    ["urls", ["https://ada.example/", "http://work.example/a?b=c"]],
    ["location", "Zürich"],
    ["company", ""],
  ])("a change of %s changes no other field, and null clears it", async (field, value) => {
    const { client, username } = await newUser();
    const before = await change(client, filled);
    expect(before).toMatchObject(filled);
    advance(5);
    const after = await change(client, { [field]: value });
    expect(after).toEqual({ ...before, [field]: value, updated_at: new Date().toISOString() });
    expect(after).toEqual(expect.objectContaining(await client.ok("GET", `/v1/users/${username}`)));
    const cleared = await change(client, { [field]: null });
    expect(cleared).toEqual({ ...after, [field]: field === "urls" ? [] : "" });
    expect(await own(client)).toEqual(cleared);
  });

  test("a profile is unchanged by an empty change, or one of fields that are read-only", async () => {
    const { client } = await newUser();
    const before = await own(client);
    advance(5);
    expect(await change(client, {})).toEqual(before);
    await client.json("PATCH", "/v1/user", { id: crypto.randomUUID(), created_at: null });
    expect(await own(client)).toMatchObject({ id: before.id, created_at: before.created_at });
  });

  test.each([
    ["name", "x".repeat(100), "x".repeat(101)],
    ["bio", "x".repeat(1_000), "x".repeat(1_001)],
    ["location", "x".repeat(100), "x".repeat(101)],
    ["company", "x".repeat(100), "x".repeat(101)],
    ["urls", Array(20).fill("https://a.example/"), Array(21).fill("https://a.example/")],
    ["urls", [], ["ftp://a.example/"]],
    ["urls", ["https://a.example/"], ["javascript:alert(1)"]],
    ["name", "x", 5],
  ])("the field %s has a limit", async (field, good, bad) => {
    const { client } = await newUser();
    expect(await change(client, { [field]: good })).toMatchObject({ [field]: good });
    const { status, body } = await refused(client, { [field]: bad });
    expect(status).toBe(422);
    const loc = expect.arrayContaining(["body", field]);
    expect(body.detail).toEqual([expect.objectContaining({ loc })]);
    expect(await own(client)).toMatchObject({ [field]: good });
  });

  test.each(["", "Ada", "a b", "-a", "a-", "ä", "a/b", "x".repeat(64), VERIFIER, null, 5])(
    "the username cannot be %j",
    async (username) => {
      const { client } = await newUser();
      const { status, body } = await refused(client, { username, name: "kept out" });
      expect(status).toBe(422);
      expect(body.detail).toMatchObject({ 0: { loc: ["body", "username"] } });
      expect(await own(client)).toMatchObject({ name: "" });
    },
  );
});

describe("another username", () => {
  test("a renamed user is found only by the new name, with the same token and models", async () => {
    const { client, username: old } = await newUser();
    const model = await newModel(client, { visibility: "public" });
    const username = unique("renamed");
    expect(await change(client, { username })).toMatchObject({ username });
    const { client: stranger } = await newUser();
    for (const path of [`/v1/users/${old}`, `/v1/models/${old}`, `/v1/models/${old}/${model.name}`])
      expect((await stranger.json("GET", path)).status).toBe(404);
    expect(await own(client)).toMatchObject({ username });
    const moved = await stranger.ok<Model>("GET", `/v1/models/${username}/${model.name}`);
    expect(moved).toMatchObject({ id: model.id, owner: { username } });
    const second = await newModel(client);
    expect(second.owner).toMatchObject({ username });
    expect((await pageAt<Model>(stranger, `/v1/models/${username}`)).items).toHaveLength(1);
  });

  test("a former username is free only for its former user", async () => {
    const [{ client, username: old }, other] = [await newUser(), await newUser()];
    const username = unique("renamed");
    await change(client, { username });
    for (const taken of [old, username]) {
      expect((await refused(other.client, { username: taken })).status).toBe(409);
      expect((await operator.refused("/v1/operator/users", { username: taken })).status).toBe(409);
    }
    expect(await own(other.client)).toMatchObject({ username: other.username });
    expect(await change(client, { username: old })).toMatchObject({ username: old });
    expect((await refused(other.client, { username })).status).toBe(409);
    expect(await change(client, { username })).toMatchObject({ username });
  });

  test("a change to the current username is no conflict", async () => {
    const { client, username } = await newUser();
    expect(await change(client, { username, name: "Ada" })).toMatchObject({ name: "Ada" });
  });

  test("a username that two users want at once goes to one of them", async () => {
    const [one, two] = [await newUser(), await newUser()];
    const username = unique("wanted");
    const answers = await Promise.all(
      [one, two].map(({ client }) => refused(client, { username })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe("the list", () => {
  test("users are listed in the order of creation, or reversed", async () => {
    const joined: string[] = [];
    for (let n = 0; n < 4; n++) joined.push((await newUser()).username);
    const { client } = await newUser();
    const listed = async (query: string) => {
      const { items } = await pageAt<User>(client, `/v1/users?page_size=100${query}`);
      return items.map(({ username }) => username).filter((name) => joined.includes(name));
    };
    expect(await listed("")).toEqual(joined);
    expect(await listed("&sort_by=created_at&sort_direction=asc")).toEqual(joined);
    expect(await listed("&sort_direction=desc")).toEqual(joined.toReversed());
    expect((await client.json("GET", "/v1/users?sort_by=username")).status).toBe(422);
  });

  test("users have the same form in the list as by themselves", async () => {
    const { client, username } = await newUser();
    const { items } = await pageAt<User>(client, "/v1/users?sort_direction=desc");
    expect(items[0]).toEqual(await client.ok("GET", `/v1/users/${username}`));
  });
});

describe("shape B", () => {
  const shaped = { ...env, RESOURCE_SHAPE: "B" };
  const get = async <Body>(client: Client, path: string): Promise<Body> => {
    const headers = { authorization: `Bearer ${client.token}` };
    const request = new Request(`${ORIGIN}${path}`, { headers });
    return (await worker.fetch(request, shaped, createExecutionContext())).json();
  };

  test("shape B names account, handle and display name of users", async () => {
    const { client, user_id, username } = await newUser();
    const {
      name,
      urls: _,
      id: __,
      username: ___,
      organizations,
      ...same
    } = await change(client, { name: "Ada" });
    const expected = { ...same, account_id: user_id, name: username, display_name: name };
    expect(await get(client, "/v1/user")).toEqual({ ...expected, organizations });
    expect(await get(client, `/v1/users/${username}`)).toEqual(expected);
    const { items } = await get<Page<User>>(client, "/v1/users?sort_direction=desc");
    expect(items[0]).toEqual(expected);
  });

  test("shape B names owners of models in the same way", async () => {
    const { client, user_id, username } = await newUser();
    const { name } = await newModel(client, { visibility: "public" });
    const owner = { account_id: user_id, name: username, avatar_url: "", kind: "user" };
    expect(await get(client, `/v1/models/${username}/${name}`)).toMatchObject({ owner });
    const { items } = await get<Page<Model>>(client, `/v1/models/${username}`);
    expect(items[0]?.owner).toEqual(owner);
  });
});
