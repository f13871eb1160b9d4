/** Authentication with tokens and the operator's secret. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { newToken, timingSafeEqual } from "../../../src/domain/accounts/token.ts";
import type { Token } from "../../../src/protocol/operator.ts";
import { revokeOwnToken } from "../../../src/services/accounts/tokens.ts";
import { getServices } from "../../../src/services/services.ts";
import { pageAt } from "../support/catalogue.ts";
import { Client, type Refusal } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newRunnerToken, newUser, newWorld, operator } from "../support/world.ts";

afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const list = (client: Client) => client.json<Refusal>("GET", "/v1/predictions");

async function expectRefused(client: Client) {
  const { status, headers, body } = await list(client);
  expect(status).toBe(401);
  expect(headers.get("www-authenticate")).toBe("Bearer");
  expect(body).toMatchObject({ type: "urn:auspex:unauthenticated", status: 401 });
}

const withTypo = (token: string) => token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");

test("a request without a token, or with an invalid one, is refused", async () => {
  const { client } = await newUser();
  for (const token of [undefined, "", "x", "aus_", withTypo(client.token ?? "")])
    await expectRefused(new Client(token));
});

test("a mistyped token causes no look-up", async () => {
  const { client } = await newUser();
  const prepare = vi.spyOn(env.DB, "prepare");
  await expectRefused(new Client(withTypo(client.token ?? "")));
  expect(prepare).not.toHaveBeenCalled();
});

test("a token of another scheme or kind is refused", async () => {
  const { client } = await newUser();
  const response = await client.fetch("/v1/predictions", {
    headers: { authorization: `Basic ${client.token}` },
  });
  expect(response.status).toBe(401);
  await expectRefused(new Client(await newRunnerToken("cpu")));
  await expectRefused(new Client(env.OPERATOR_TOKEN));
});

test("a well-formed token that was never created is refused", async () => {
  await expectRefused(new Client(newToken("aus")));
});

test("a token is valid until it expires, cached or not", async () => {
  stopClock();
  const { username } = await newUser();
  const client = await newClient(username, {
    expires_at: new Date(Date.now() + 5_000).toISOString(),
  });
  expect((await list(client)).status).toBe(200);
  advance(4);
  expect((await list(client)).status).toBe(200);
  advance(2);
  await expectRefused(client);
});

test("a revoked token is refused within 10 s, also if it is used meanwhile", async () => {
  stopClock();
  const { client, user_id } = await newUser();
  expect((await list(client)).status).toBe(200);
  await env.DB.prepare("DELETE FROM tokens WHERE user_id = ?").bind(user_id).run();
  expect((await list(client)).status).toBe(200);
  advance(10.1);
  await expectRefused(client);
});

describe("a user's token", () => {
  const newest = async (username: string) => {
    const path = `/v1/operator/users/${username}/tokens`;
    return (await pageAt<Token>(operator, path)).items[0]?.id ?? expect.fail("no token");
  };

  test("a token that its user revokes is refused at once in this isolate", async () => {
    const { client, username, user_id } = await newUser();
    expect((await list(client)).status).toBe(200);
    await revokeOwnToken(getServices(env), user_id, await newest(username));
    await expectRefused(client);
  });

  test("a token cannot be revoked by another user", async () => {
    const { client, username } = await newUser();
    const { user_id: other } = await newUser();
    const id = await newest(username);
    const missing = { code: "not_found", message: `The token '${id}' was not found.` };
    await expect(revokeOwnToken(getServices(env), other, id)).rejects.toMatchObject(missing);
    expect((await list(client)).status).toBe(200);
  });
});

describe("the tokens of an account", () => {
  /** Inserts `count` more tokens that expire at `expiresAt`. */
  const insert = (userId: string, prefix: string, count: number, expiresAt: number | null) =>
    env.DB.prepare(
      `INSERT INTO tokens (id, user_id, name, hash, prefix, scopes, created_at, expires_at)
        SELECT ?1 || value, ?2, '', ?1 || value, '', '[]', 0, ?3
        FROM json_each(?4)`,
    )
      .bind(prefix, userId, expiresAt, JSON.stringify([...Array(count).keys()]))
      .run();

  test("an account has at most 100 tokens that are not expired, also if several creates come at once", async () => {
    stopClock();
    const { username, user_id } = await newUser();
    const path = `/v1/operator/users/${username}/tokens`;
    const create = () => operator.refused(path, { name: "x" });
    await insert(user_id, "good", 97, null);
    await insert(user_id, "ending", 1, Date.now() + 1_000);
    await insert(user_id, "expired", 5, Date.now());
    const statuses = (await Promise.all([create(), create()])).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 409]);
    expect(await create()).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/100 access tokens\. Revoke an unused token/) },
    });
    advance(1);
    expect((await create()).status).toBe(200);
    expect((await create()).status).toBe(409);
  });
});

describe("scopes", () => {
  test("the scopes read, predict and write allow only their own requests", async () => {
    const world = await newWorld({ visibility: "public" });
    const id = await world.waiting();
    const of = async (...scopes: string[]) => newClient(world.username, { scopes });
    const [read, predict, write] = [await of("read"), await of("predict"), await of("write")];
    const statuses = async (client: Client) => [
      (await list(client)).status,
      (await client.fetch(`/v1/predictions/${id}`)).status,
      (await client.post("/v1/predictions", { model: world.model, input: {} })).status,
      (await client.post("/v1/models", { name: "other" })).status,
    ];
    expect(await statuses(read)).toEqual([200, 200, 403, 403]);
    expect(await statuses(predict)).toEqual([403, 200, 202, 403]);
    expect(await statuses(write)).toEqual([403, 403, 403, 200]);
    expect((await read.post(`/v1/predictions/${id}/cancel`, "")).status).toBe(403);
    expect((await predict.post(`/v1/predictions/${id}/cancel`, "")).status).toBe(202);
  });

  test("a missing scope is named in the error", async () => {
    const { username } = await newUser();
    const { body } = await (await newClient(username, { scopes: ["read"] })).refused("/v1/models", {
      name: "x",
    });
    expect(body).toMatchObject({
      type: "urn:auspex:forbidden",
      detail: expect.stringContaining("write"),
    });
  });
});

describe("a public model", () => {
  test("a public model is read without a token, but not with a bad one", async () => {
    const world = await newWorld({ visibility: "public" });
    const path = `/v1/models/${world.model}`;
    expect((await new Client(undefined).json("GET", path)).status).toBe(200);
    expect((await new Client("aus_bad").json("GET", path)).status).toBe(401);
  });

  test("a private model is a 404 for others", async () => {
    const world = await newWorld();
    const path = `/v1/models/${world.model}`;
    expect((await world.client.json("GET", path)).status).toBe(200);
    for (const client of [new Client(undefined), await world.stranger()]) {
      expect((await client.json("GET", path)).status).toBe(404);
    }
  });
});

describe("the operator", () => {
  test("the operator is recognised only by the whole secret", async () => {
    for (const token of [
      undefined,
      newToken("aus"),
      `${env.OPERATOR_TOKEN}x`,
      env.OPERATOR_TOKEN.slice(1),
    ]) {
      expect(
        (await new Client(token).refused("/v1/operator/users", { username: "mallory" })).status,
      ).toBe(401);
    }
    expect((await operator.json("GET", "/v1/operator/runners")).status).toBe(200);
  });

  test("the operator cannot create a username twice", async () => {
    const { username } = await newUser();
    expect((await operator.refused("/v1/operator/users", { username })).status).toBe(409);
  });
});

test("a token is stored only as its hash", async () => {
  const { client } = await newUser();
  const { results } = await env.DB.prepare("SELECT * FROM tokens").all();
  expect(JSON.stringify(results)).not.toContain(client.token);
});

test("secrets are compared whole", () => {
  expect(timingSafeEqual("secret", "secret")).toBe(true);
  for (const other of ["", "secre", "secrets", "Secret", "sécret"])
    expect(timingSafeEqual("secret", other)).toBe(false);
});
