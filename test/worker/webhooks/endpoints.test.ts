/** Webhook endpoints of accounts: their life, secrets and limits. */

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signingSecrets } from "../../../src/domain/webhooks/stored-secret.ts";
import { getServices } from "../../../src/services/services.ts";
import { createEndpoint, updateEndpoint } from "../../../src/services/webhooks/endpoints.ts";
import { getAccountFacts } from "../../../src/storage/webhooks/account-facts.ts";
import { getCachedEndpoint } from "../../../src/storage/webhooks/endpoint-cache.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import type { Refusal } from "../support/client.ts";
import { ENDPOINT_ACCESS as ACCESS, callEndpoint } from "../support/endpoint-access.ts";
import {
  addSecret,
  changeEndpoint,
  getEndpoint,
  listEndpoints,
  newEndpoint,
  WEBHOOK_ENDPOINTS,
} from "../support/endpoints.ts";
import { addressOf, freshPath, received, script } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const services = getServices(env);
const { db } = services;

const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).sort();

describe("an endpoint", () => {
  test("an endpoint has the documented shape, and shows its secret once", async () => {
    const { client } = await newUser();
    const url = addressOf(freshPath());
    const { secret, ...made } = await newEndpoint(client, { url });
    const now = new Date().toISOString();
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(made).toEqual({
      id: expect.any(String),
      url,
      description: "",
      events: ["started", "completed"],
      enabled: true,
      secrets: [{ id: expect.any(String), created_at: now }],
      failing_since: null,
      last_error: null,
      notice: null,
      created_at: now,
      updated_at: now,
    });
    expect(await getEndpoint(client, made.id)).toEqual(made);
    expect(await listEndpoints(client)).toEqual([made]);
  });

  test("an endpoint takes every field, and may have the URL of another", async () => {
    const { client } = await newUser();
    const given = {
      url: addressOf(`${freshPath()}?key=1`),
      description: "Zürich 🛠",
      events: ["output"],
      enabled: false,
    };
    const first = await newEndpoint(client, given);
    expect(first).toMatchObject(given);
    advance(1);
    const second = await newEndpoint(client, { ...given, events: ["completed"] });
    expect(second.secret).not.toBe(first.secret);
    expect((await listEndpoints(client)).map(({ id }) => id)).toEqual([second.id, first.id]);
  });

  test("an endpoint that has not changed is a 304 for its ETag", async () => {
    const { client } = await newUser();
    const path = `${WEBHOOK_ENDPOINTS}/${(await newEndpoint(client)).id}`;
    const etag = (await client.json("GET", path)).headers.get("etag") ?? "";
    const again = () => client.fetch(path, { headers: { "if-none-match": etag } });
    expect((await again()).status).toBe(304);
    await client.ok("PATCH", path, { description: "changed" });
    expect((await again()).status).toBe(200);
  });

  test("an endpoint is used by creates and deliveries from its creation until its deletion", async () => {
    const { client, user_id } = await newUser();
    expect((await getAccountFacts(db, user_id)).endpoints).toEqual([]);
    const { id } = await newEndpoint(client);
    expect(await getCachedEndpoint(db, id)).toMatchObject({ id });
    expect((await getAccountFacts(db, user_id)).endpoints).toEqual([
      { id, events: ["started", "completed"] },
    ]);
    expect(await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}`)).toEqual({});
    expect(await getCachedEndpoint(db, id)).toBeUndefined();
    expect((await getAccountFacts(db, user_id)).endpoints).toEqual([]);
    expect(await listEndpoints(client)).toEqual([]);
    for (const method of ["GET", "DELETE", "PATCH"] as const)
      expect(await client.json(method, `${WEBHOOK_ENDPOINTS}/${id}`)).toMatchObject({
        status: 404,
        body: { detail: `The webhook endpoint '${id}' was not found.` },
      });
  });

  test("an endpoint of another user is a 404", async () => {
    const { client } = await newUser();
    const { client: stranger, user_id } = await newUser();
    const made = await newEndpoint(client);
    const path = `${WEBHOOK_ENDPOINTS}/${made.id}`;
    const [first] = made.secrets;
    const answers = await Promise.all([
      stranger.json("GET", path),
      stranger.json("PATCH", path, { enabled: false }),
      stranger.json("DELETE", path),
      stranger.json("POST", `${path}/secrets`),
      stranger.json("DELETE", `${path}/secrets/${first?.id}`),
      stranger.json("POST", `${path}/test`),
    ]);
    expect(statuses(answers)).toEqual([404, 404, 404, 404, 404, 404]);
    expect(await listEndpoints(stranger)).toEqual([]);
    expect((await getAccountFacts(db, user_id)).endpoints).toEqual([]);
    expect(await received(new URL(made.url).pathname)).toEqual([]);
    expect(await getEndpoint(client, made.id)).toEqual({ ...made, secret: undefined });
  });

  test("an endpoint is read with the scope read, and changed with read and write", async () => {
    const { client, username } = await newUser();
    const { id, secrets } = await newEndpoint(client);
    const reader = await newClient(username, { scopes: ["read"] });
    const both = await newClient(username, { scopes: ["read", "write"] });
    expect(await getEndpoint(reader, id)).toMatchObject({ id });
    expect(await changeEndpoint(both, id, { description: "x" })).toMatchObject({ id });
    const changes = Object.entries(ACCESS).filter(
      ([key, { needsEach }]) => needsEach && key.includes("/webhook-endpoints"),
    );
    expect(changes).toHaveLength(6);
    const place = {
      endpoint_id: id,
      secret_id: secrets[0]?.id ?? "",
      hook: addressOf(freshPath()),
    };
    for (const [scopes, lacking] of [
      [["read", "predict"], "write"],
      [["write", "predict"], "read"],
      [["predict"], "write and read"],
    ] as const) {
      const lacks = await newClient(username, { scopes });
      for (const [key, endpoint] of changes) {
        const { status, text = "" } = await callEndpoint(lacks, key, place, endpoint);
        const detail = `This requires a token with the scopes write and read: it lacks ${lacking}. Create one at /tokens.`;
        expect([key, status, JSON.parse(text).detail]).toEqual([key, 403, detail]);
      }
    }
    expect(await listEndpoints(client)).toHaveLength(1);
  });
});

describe("a change of an endpoint", () => {
  test.each<[string, unknown]>([
    ["url", addressOf(freshPath())],
    ["description", ""],
    ["events", ["output", "completed"]],
    ["enabled", false],
  ])("a change of %s changes no other field", async (field, value) => {
    const { client, user_id } = await newUser();
    const { secret: _, ...made } = await newEndpoint(client, { description: "one" });
    await getCachedEndpoint(db, made.id);
    advance(1);
    const changed = { ...made, [field]: value, updated_at: new Date().toISOString() };
    expect(await changeEndpoint(client, made.id, { [field]: value })).toEqual(changed);
    expect(await getEndpoint(client, made.id)).toEqual(changed);
    expect(await getCachedEndpoint(db, made.id)).toMatchObject({ [field]: value });
    const known = (await getAccountFacts(db, user_id)).endpoints;
    expect(known).toEqual(changed.enabled ? [{ id: made.id, events: changed.events }] : []);
  });

  test("a change in the same millisecond as another has its own updated_at", async () => {
    const { client } = await newUser();
    const { id, updated_at } = await newEndpoint(client);
    const times = [updated_at];
    const changedBy = async (change: Promise<unknown>) => {
      await change;
      times.push((await getEndpoint(client, id)).updated_at);
    };
    await changedBy(changeEndpoint(client, id, { url: addressOf(freshPath()) }));
    await changedBy(changeEndpoint(client, id, { enabled: true }));
    const secret = await addSecret(client, id);
    await changedBy(getEndpoint(client, id));
    await changedBy(client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}/secrets/${secret.id}`));
    const first = Date.parse(updated_at);
    expect(times.map((time) => Date.parse(time) - first)).toEqual([0, 1, 2, 3, 4]);
    advance(1);
    await changedBy(changeEndpoint(client, id, { enabled: false }));
    expect(times.at(-1)).toBe(new Date().toISOString());
  });

  test("a change without fields leaves the endpoint unchanged", async () => {
    const { client } = await newUser();
    const { secret: _, ...made } = await newEndpoint(client);
    advance(1);
    expect(await changeEndpoint(client, made.id, {})).toEqual(made);
  });

  const bad: [string, object, string][] = [
    ["an address of another scheme", { url: "ftp://example.com" }, "url"],
    ["a private address", { url: "https://10.0.0.1/hook" }, "url"],
    ["a private address as hexadecimal", { url: "https://0xa.1/hook" }, "url"],
    ["an address with a password", { url: "https://me:secret@example.com/" }, "url"],
    ["an unknown event", { events: ["failed"] }, "events"],
    ["no event", { events: [] }, "events"],
    ["six events", { events: Array(6).fill("output") }, "events"],
    ["a long description", { description: "x".repeat(201) }, "description"],
    ["a text for a flag", { enabled: "no" }, "enabled"],
    ["a misspelt field", { enabeld: false }, "enabeld"],
  ];

  test.each(bad)(
    "a change to %s is refused, and so is a new endpoint with it",
    async (_, fields, field) => {
      const { client } = await newUser();
      const { secret: _secret, ...made } = await newEndpoint(client);
      const url = addressOf(freshPath());
      const answers = [
        await client.json<Refusal>("PATCH", `${WEBHOOK_ENDPOINTS}/${made.id}`, fields),
        await client.refused(WEBHOOK_ENDPOINTS, { url, ...fields }),
      ];
      for (const { status, body } of answers) {
        expect({ status, body }).toMatchObject({ status: 422 });
        const [issue] = Array.isArray(body.detail) ? body.detail : [];
        expect(issue?.loc.slice(0, 2)).toEqual(["body", field]);
      }
      expect(await listEndpoints(client)).toEqual([made]);
    },
  );
});

describe("the host name in a URL", () => {
  const strict = (path: string) => ({
    ...services,
    settings: {
      ...services.settings,
      webhooks: { ...services.settings.webhooks, allowInsecure: false, resolver: addressOf(path) },
    },
  });
  const callerOf = (user_id: string) => ({
    token_id: "",
    user_id,
    maker: "",
    role: "owner" as const,
    scopes: [],
    models: null,
    priority: null,
  });
  const register = async (path: string, host: string) => {
    const { user_id } = await newUser();
    const request = { description: "", events: ["completed" as const], enabled: true };
    return createEndpoint(strict(path), callerOf(user_id), {
      ...request,
      url: `https://${host}/hook`,
    });
  };
  const records = (host: string, type: string, ...addresses: string[]) => ({
    target: `?name=${host}&type=${type}`,
    answer: {
      status: 200,
      body: JSON.stringify({
        Status: 0,
        Answer: addresses.map((data) => ({ type: type === "A" ? 1 : 28, TTL: 60, data })),
      }),
    },
  });
  async function resolver(...all: ReturnType<typeof records>[]): Promise<string> {
    const path = freshPath();
    for (const { target, answer } of all) await script(path + target, answer);
    return path;
  }

  test("a host name with public addresses is accepted", async () => {
    const host = "hooks.auspex.dev";
    const path = await resolver(
      records(host, "A", "93.184.215.14"),
      records(host, "AAAA", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"),
    );
    expect((await register(path, host)).row.url).toBe(`https://${host}/hook`);
    expect(await received(path)).toHaveLength(2);
  });

  test("a host name is refused if one of its addresses is private", async () => {
    const host = "inside.auspex.dev";
    const path = await resolver(
      records(host, "A", "93.184.215.14"),
      records(host, "AAAA", "::ffff:10.0.0.1"),
    );
    await expect(register(path, host)).rejects.toMatchObject({
      issues: [{ loc: ["body", "url"], msg: expect.stringContaining(host) }],
    });
  });

  test.each([
    ["does not exist", 3],
    ["has no address", 0],
  ])("a host name that %s is refused for a new endpoint and for a change", async (_, Status) => {
    const host = "mistyped.auspex.dev";
    const path = freshPath();
    await script(path, { status: 200, body: JSON.stringify({ Status }) });
    const refused = {
      issues: [
        { loc: ["body", "url"], msg: `${host} does not resolve to an address: check its spelling` },
      ],
    };
    await expect(register(path, host)).rejects.toMatchObject(refused);
    const { client, user_id } = await newUser();
    const { id, url } = await newEndpoint(client);
    const change = updateEndpoint(strict(path), callerOf(user_id), id, { url: `https://${host}/` });
    await expect(change).rejects.toMatchObject(refused);
    expect(await getEndpoint(client, id)).toMatchObject({ url });
  });

  test.each<[string, Behaviour]>([
    ["is down", { status: 500 }],
    ["resets", "reset"],
    ["cannot reach the name server", { status: 200, body: '{"Status":2}' }],
  ])("a host name is accepted when the resolver %s", async (_, behaviour) => {
    const path = freshPath();
    await script(path, behaviour);
    expect((await register(path, "down.auspex.dev")).row.url).toContain("down.auspex.dev");
  });
});

describe("the limits", () => {
  test("an account may have four endpoints, also if 12 creates come at once", async () => {
    const { client } = await newUser();
    const body = { url: addressOf(freshPath()) };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => client.refused(WEBHOOK_ENDPOINTS, body)),
    );
    expect(statuses(answers)).toEqual([...Array(4).fill(200), ...Array(8).fill(409)]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.detail).toMatch(
      /^An account can have at most 4 webhook endpoints\. Delete or/,
    );
    const all = await listEndpoints(client);
    expect(new Set(all.map(({ id }) => id)).size).toBe(4);
    await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${all[0]?.id}`);
    await newEndpoint(client);
    expect(await listEndpoints(client)).toHaveLength(4);
    const { client: other } = await newUser();
    await newEndpoint(other);
  });

  test("an endpoint has one to three secrets", async () => {
    const { client } = await newUser();
    const made = await newEndpoint(client);
    const path = `${WEBHOOK_ENDPOINTS}/${made.id}/secrets`;
    advance(1);
    const added = await Promise.all(Array.from({ length: 6 }, () => client.json("POST", path)));
    expect(statuses(added)).toEqual([200, 200, 409, 409, 409, 409]);
    const { secrets, updated_at } = await getEndpoint(client, made.id);
    expect(secrets).toHaveLength(3);
    expect(secrets[0]).toEqual(made.secrets[0]);
    // `updated_at` is 1 ms later, because both changes came in one millisecond.
    expect(Date.parse(updated_at)).toBe(Date.now() + 1);
    const removed = await Promise.all(
      secrets.map(({ id }) => client.json("DELETE", `${path}/${id}`)),
    );
    expect(statuses(removed)).toEqual([200, 200, 409]);
    const [left, ...others] = (await getEndpoint(client, made.id)).secrets;
    expect(others).toEqual([]);
    const gone = secrets.find(({ id }) => id !== left?.id);
    expect((await client.json("DELETE", `${path}/${gone?.id}`)).status).toBe(404);
    expect((await client.refused(path, "")).status).toBe(200);
  });

  test("a secret signs deliveries from its creation until its deletion", async () => {
    const { client } = await newUser();
    const { id, secret: first, secrets } = await newEndpoint(client);
    const known = async () => {
      const endpoint = (await getCachedEndpoint(db, id)) ?? expect.fail("it is gone");
      return signingSecrets(services.settings.secretKeys, endpoint);
    };
    expect(await known()).toEqual([first]);
    const { secret: second } = await addSecret(client, id);
    expect(await known()).toEqual([first, second]);
    await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}/secrets/${secrets[0]?.id}`);
    expect(await known()).toEqual([second]);
  });
});
