/** The limits of access tokens: requests and predictions a minute, endpoints, origins and networks. */
import { afterEach, describe, expect, test } from "vitest";
import { forgetTokens } from "../../../src/services/access/authentication.ts";
import { run } from "../support/accounts.ts";
import { entriesOf } from "../support/audit.ts";
import { newBudget } from "../support/budgets.ts";
import { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { newOrganization } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newUser, newWorld, operator } from "../support/world.ts";

afterEach(startClock);

const limited = async (limits: object, scopes = ["read", "write", "predict"]) => {
  const user = await newUser();
  const client = await newClient(user.username, { name: "kiosk", limits, scopes });
  return { ...user, own: user.client, client };
};

const idOf = async (username: string): Promise<string> => {
  const path = `/v1/operator/users/${username}/tokens`;
  const { items } = await operator.ok<{ items: { id: string; name: string }[] }>("GET", path);
  return items.find(({ name }) => name === "kiosk")?.id ?? expect.fail("no token");
};

const statusOf = async (client: Client, path = "/v1/predictions", headers: object = {}) =>
  (await client.json("GET", path, undefined, { ...headers })).status;

describe("requests per minute", () => {
  test("the request above the limit is a 429 that says which limit, of which token, and who changes it", async () => {
    stopClock();
    advance(60 - (Date.now() % 60_000) / 1_000);
    const { client, own } = await limited({ requests_per_minute: 2 });
    expect(await statusOf(client)).toBe(200);
    expect(await statusOf(client)).toBe(200);
    const { status, headers, body } = await client.json("GET", "/v1/predictions");
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toBe("60");
    expect(headers.get("x-ratelimit-limit")).toBe("2");
    expect(headers.get("x-ratelimit-remaining")).toBe("0");
    expect(body).toMatchObject({
      detail:
        "The token 'kiosk' is limited to 2 requests per minute. Wait 60 seconds. Whoever manages the token can change its limits at /tokens.",
    });
    expect(await statusOf(own)).toBe(200);
    advance(60);
    expect(await statusOf(client)).toBe(200);
  });

  test("OpenAI's and Anthropic's clients get the limit of a token in their own headers", async () => {
    const { client } = await limited({ requests_per_minute: 1 });
    const openai = await client.json("GET", "/openai/v1/models");
    expect(openai.headers.get("x-ratelimit-limit-requests")).toBe("1");
    expect(openai.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const anthropic = await client.json("GET", "/anthropic/v1/models");
    expect(anthropic.status).toBe(429);
    expect(anthropic.headers.get("anthropic-ratelimit-requests-limit")).toBe("1");
    expect(Number(anthropic.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

test("predictions per minute count creates, and no reads", async () => {
  const { username, model } = await newWorld();
  const client = await newClient(username, { limits: { predictions_per_minute: 1 } });
  for (let n = 0; n < 3; n++) expect(await statusOf(client)).toBe(200);
  const create = () => client.refused("/v1/predictions", { model, input: { prompt: "x" } });
  expect((await create()).status).toBe(202);
  const { status, body } = await create();
  expect(status).toBe(429);
  expect(body.detail).toMatch("limited to 1 predictions per minute");
});

test("predictions at a time are exact, also for parallel creates and all client tokens together", async () => {
  const { username, model } = await newWorld();
  const client = await newClient(username, { limits: { max_running: 2 } });
  const origin = "https://app.example.com";
  const body = { models: [model], origins: [origin] };
  const { token } = await client.ok<{ token: string }>("POST", "/v1/client_tokens", body);
  const page = new Client(token);
  const create = (by: Client) => by.refused("/v1/predictions", { model, input: {} }, { origin });
  const answers = await Promise.all([client, page, page, client].map(create));
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 429, 429]);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers.get("retry-after")).toBe("10");
  const { items } = await client.ok<{ items: { id: string }[] }>("GET", "/v1/predictions");
  await client.cancel(items[0]?.id ?? "");
  // The prediction gives its place back with its final row.
  await eventually(async () => expect((await create(page)).status).toBe(202));
});

describe("endpoints", () => {
  test("a token for predictions can call these alone, whatever way the path is written", async () => {
    const { client, username } = await limited({ endpoints: ["predictions"] });
    expect(await statusOf(client)).toBe(200);
    for (const path of [
      "/v1/user",
      "/v1/models",
      `/v1/users/${username}`,
      "/openai/v1/models",
      "/v1/vendora/models",
      "/anthropic/v1/models",
      "/replicate/v1/predictions",
      "/v1/uploads/00000000-0000-4000-8000-000000000000",
      "/v1/audit_events",
      "/v1/webhook-endpoints",
      "/v1/%75ser",
      "/v2/",
      "/v2/ada/story/tags/list",
    ])
      expect([path, await statusOf(client, path)]).toEqual([path, 403]);
    const { body } = await client.json("GET", "/v1/user");
    expect(body).toMatchObject({
      detail:
        "The token 'kiosk' can only call the endpoints of predictions, and not this one. Whoever manages the token can change its limits at /tokens.",
    });
  });

  test("a token for OpenAI's API cannot call the others", async () => {
    const { client } = await limited({ endpoints: ["openai"] });
    expect(await statusOf(client, "/openai/v1/models")).toBe(200);
    expect(await statusOf(client, "/anthropic/v1/models")).toBe(403);
    expect(await statusOf(client)).toBe(403);
  });
});

test("a token for a web page needs one of its origins", async () => {
  const { client } = await limited({ origins: ["https://app.example.com"] });
  const from = (origin: string) => statusOf(client, "/v1/predictions", { origin });
  expect(await from("https://app.example.com")).toBe(200);
  expect(await from("https://evil.example.com")).toBe(403);
  expect(await statusOf(client)).toBe(403);
});

test("a token for a network is refused from elsewhere", async () => {
  const { client } = await limited({ networks: ["203.0.113.0/24"] });
  const from = (address: string) =>
    statusOf(client, "/v1/predictions", { "cf-connecting-ip": address });
  expect(await from("203.0.113.9")).toBe(200);
  expect(await from("198.51.100.1")).toBe(403);
});

describe("changing the limits of a token", () => {
  test("a change holds at once in this isolate, elsewhere within 10 s, and is in the audit log", async () => {
    stopClock();
    const { client, username, own } = await limited({ endpoints: ["predictions"] });
    const path = `/v1/operator/tokens/${await idOf(username)}`;
    expect(await statusOf(client, "/v1/user")).toBe(403);
    const changed = await operator.ok("PATCH", path, { limits: { max_running: 5 } });
    expect(changed).toMatchObject({ limits: { max_running: 5 } });
    expect(await statusOf(client, "/v1/user")).toBe(200);
    await run(
      "UPDATE tokens SET limits = ? WHERE name = 'kiosk' AND user_id = (SELECT id FROM users WHERE username = ?)",
      '{"endpoints":["files"]}',
      username,
    );
    advance(10.1);
    expect(await statusOf(client, "/v1/user")).toBe(403);
    expect(await operator.ok("PATCH", path, { limits: null })).toMatchObject({ limits: null });
    expect(await operator.ok("PATCH", path, { limits: {} })).toMatchObject({ limits: null });
    const [entry] = await entriesOf(own, "?action=token.updated&page_size=5");
    expect(entry).toMatchObject({ targets: [{ type: "token", name: "kiosk" }] });
  });

  test("a member changes their own tokens of an organization, and an admin those of all", async () => {
    const organization = await newOrganization();
    const [member, admin] = [await organization.join("member"), await organization.join("admin")];
    const path = `/v1/organizations/${organization.username}/tokens`;
    const make = async (client: Client) =>
      (await client.ok<{ id: string }>("POST", path, { name: "x", scopes: ["predict"] })).id;
    const [its, own] = [await make(admin.client), await make(member.client)];
    const body = { limits: { max_running: 1 } };
    const change = async (client: Client, id: string) =>
      (await client.json("PATCH", `${path}/${id}`, body)).status;
    expect(await change(member.client, own)).toBe(200);
    expect(await change(member.client, its)).toBe(404);
    expect(await change(admin.client, own)).toBe(200);
    expect(await change((await newUser()).client, own)).toBe(404);
  });

  test("a token with limits changes no limits and makes no token, nor does one with fewer rights", async () => {
    const organization = await newOrganization();
    const path = `/v1/organizations/${organization.username}/tokens`;
    const make = async (fields: object) => {
      const service = { name: "x", service_role: "admin", ...fields };
      const { id, token } = await organization.client.ok<{ id: string; token: string }>(
        "POST",
        path,
        service,
      );
      return { id, client: new Client(token) };
    };
    for (const fields of [
      { limits: { requests_per_minute: 1_000 } },
      { priority: "low" },
      { scopes: ["write"] },
    ]) {
      const { id, client } = await make(fields);
      const { status, body } = await client.json("PATCH", `${path}/${id}`, { limits: null });
      expect([status, body]).toMatchObject([
        403,
        { detail: expect.stringMatching("cannot change the limits of tokens") },
      ]);
    }
    const { client } = await make({ limits: { requests_per_minute: 1_000 } });
    const { status, body } = await client.refused(path, {
      name: "stronger",
      service_role: "member",
    });
    expect([status, body]).toMatchObject([
      403,
      { detail: expect.stringMatching("your own token has limits") },
    ]);
  });

  test("a token with a budget makes no token without one", async () => {
    const organization = await newOrganization();
    const path = `/v1/organizations/${organization.username}/tokens`;
    const service = { name: "x", service_role: "admin" };
    const { id, token } = await organization.client.ok<{ id: string; token: string }>(
      "POST",
      path,
      service,
    );
    const owner = await organization.client.ok<{ token: string }>("POST", path, {
      ...service,
      name: "owner",
    });
    await newBudget(new Client(owner.token), { limit: "1", token_id: id });
    const { status, body } = await new Client(token).refused(path, service);
    expect([status, body]).toMatchObject([
      403,
      { detail: expect.stringMatching("your own token has a budget") },
    ]);
  });

  test("a token with the scope operator has no limits", async () => {
    const { username } = await newOperatorUser();
    const path = `/v1/operator/users/${username}/tokens`;
    const fields = { name: "kiosk", scopes: ["operator"] };
    expect((await operator.refused(path, { ...fields, limits: { max_running: 1 } })).status).toBe(
      422,
    );
    await operator.ok("POST", path, fields);
    const one = `/v1/operator/tokens/${await idOf(username)}`;
    expect((await operator.json("PATCH", one, { limits: { max_running: 1 } })).status).toBe(422);
    expect((await operator.json("PATCH", one, { limits: null })).status).toBe(200);
  });

  test("the bytes of limits count with the account's, also after a change", async () => {
    const { username, user_id } = await limited({ origins: ["https://app.example.com"] });
    const bytes = async () => {
      const [row] = await run("SELECT bytes FROM account_bytes WHERE user_id = ?", user_id);
      return row?.bytes;
    };
    const before = await bytes();
    const path = `/v1/operator/tokens/${await idOf(username)}`;
    const origins = [`https://${"a".repeat(60)}.example.com`];
    await operator.ok("PATCH", path, { limits: { origins } });
    expect(await bytes()).toBe(Number(before) + 57);
    await operator.ok("DELETE", path);
    await run("DELETE FROM tokens WHERE user_id = ?", user_id);
    expect(await bytes()).toBe(0);
    forgetTokens();
  });
});
