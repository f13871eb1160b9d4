/** Rate limits, turned on: the bindings are real, with the low numbers of test/vitest.config.ts. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import type { Bindings } from "../../src/env.ts";
import type { Client } from "./support/client.ts";
import { ORIGIN } from "./support/client.ts";
import { newClient, newRunnerToken, newUser, operator } from "./support/world.ts";

const LIMITS = { address: 5, token: 8, predictions: 6 };

const limited: Bindings = Object.assign({}, env, { RATE_LIMITS: "on" });

let count = 0;
/** An address that nobody has asked from. */
const newAddress = () => `203.0.113.${++count}`;

async function ask(path: string, address: string, token?: string, init: RequestInit = {}) {
  const headers = {
    "cf-connecting-ip": address,
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const request = new Request(`${ORIGIN}${path}`, { ...init, headers });
  return app.fetch(request, limited, createExecutionContext());
}

/**
 * Asks until it is refused. The binding counts in windows of the wall clock, so that a test may
 * see the end of one and the beginning of the next: at most twice the limit is let through.
 */
async function askUntilRefused(limit: number, asking: () => Promise<Response>) {
  for (let asked = 0; asked <= 2 * limit; asked++) {
    const response = await asking();
    if (response.status !== 429) {
      await response.body?.cancel();
      continue;
    }
    expect(asked).toBeGreaterThanOrEqual(limit);
    return response;
  }
  throw new Error(`${2 * limit + 1} requests were let through`);
}

async function expectRefusal(response: Response, what: string) {
  expect(response.headers.get("retry-after")).toBe("10");
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(await response.json()).toMatchObject({
    type: "urn:auspex:too_many_requests",
    detail: expect.stringContaining(what),
  });
}

const PUBLIC = "/v1/models/nobody/nothing";
const OWN = "/v1/predictions";

/** Well formed, and of nobody. */
const UNKNOWN = `aus_${"0".repeat(49)}`;

const tokenOf = ({ token }: Client) => token ?? "";

describe("without a token", () => {
  test("an address is limited, and no other with it", async () => {
    const address = newAddress();
    const response = await askUntilRefused(LIMITS.address, () => ask(PUBLIC, address));
    await expectRefusal(response, "from this address");
    expect((await ask(PUBLIC, newAddress())).status).toBe(404);
  });

  test("an IPv6 address counts as its /64", async () => {
    const network = `2001:db8:${(++count).toString(16)}`;
    let host = 0;
    await askUntilRefused(LIMITS.address, () => {
      const address = host++ % 2 ? `${network}::${host}` : `${network}:0:1:2:3:${host}`;
      return ask(PUBLIC, address);
    });
    expect((await ask(PUBLIC, `${network}:1::1`)).status).toBe(404);
  });

  test.each([
    ["bad token", OWN, UNKNOWN],
    ["bad token, where none is needed", PUBLIC, UNKNOWN],
    ["bad runner token", "/v1/runner/input", UNKNOWN],
    ["bad operator token", "/v1/operator/runners", UNKNOWN],
    ["no token where one is needed", OWN, undefined],
  ])("%s: guessing is limited", async (_, path, token) => {
    const address = newAddress();
    const response = await askUntilRefused(LIMITS.address, async () => {
      const answer = await ask(path, address, token);
      expect([401, 429]).toContain(answer.status);
      return answer;
    });
    await expectRefusal(response, "from this address");
  });
});

describe("with a token", () => {
  test("the token is limited, wherever it is used from; not its owner's other one", async () => {
    const { client, username } = await newUser();
    const paths = [OWN, PUBLIC];
    const response = await askUntilRefused(LIMITS.token, async () => {
      const path = paths.reverse()[0] ?? "";
      return ask(path, newAddress(), tokenOf(client));
    });
    await expectRefusal(response, "this token");
    const other = await newClient(username);
    expect((await ask(OWN, newAddress(), tokenOf(other))).status).toBe(200);
  });

  test("more is allowed from one address than without", async () => {
    const { client } = await newUser();
    const address = newAddress();
    for (let n = 0; n <= LIMITS.address; n++)
      expect((await ask(OWN, address, tokenOf(client))).status).toBe(200);
  });

  test("a token that may not is limited as well", async () => {
    const { client } = await newUser({ scopes: ["predict"] });
    await askUntilRefused(LIMITS.token, () => ask(OWN, newAddress(), tokenOf(client)));
  });
});

describe("creating predictions", () => {
  const PATHS = [OWN, "/v1/models/nobody/nothing/predictions"];
  const create = (token: string, path = OWN) =>
    ask(path, newAddress(), token, {
      method: "POST",
      body: JSON.stringify({ model: "nobody/nothing", input: {} }),
    });

  test("the account is limited, over all its tokens, and reads on", async () => {
    const { client, username } = await newUser();
    const tokens = [tokenOf(client), tokenOf(await newClient(username))];
    let asked = 0;
    const response = await askUntilRefused(LIMITS.predictions, () => {
      const [token = "", path] = [tokens[asked % 2], PATHS[(asked >> 1) % 2]];
      asked++;
      return create(token, path);
    });
    await expectRefusal(response, "predictions and deliveries asked for by this account");
    expect((await ask(OWN, newAddress(), tokenOf(client))).status).toBe(200);
    const { client: stranger } = await newUser();
    expect((await create(tokenOf(stranger))).status).toBe(404);
  });

  test("does not count against the token", async () => {
    const { client } = await newUser();
    for (let n = 0; n < LIMITS.predictions; n++) await create(tokenOf(client));
    for (let n = 0; n < LIMITS.token; n++)
      expect((await ask(OWN, newAddress(), tokenOf(client))).status).toBe(200);
  });
});

describe("not limited", () => {
  const ATTEMPTS = 2 * LIMITS.token + 1;

  test("the operator", async () => {
    const address = newAddress();
    for (let n = 0; n < ATTEMPTS; n++)
      expect((await ask("/v1/operator/runners", address, operator.token)).status).toBe(200);
  });

  test("runners", async () => {
    const address = newAddress();
    const token = await newRunnerToken("cpu");
    for (let n = 0; n < ATTEMPTS; n++)
      expect((await ask("/v1/runner/unknown", address, token)).status).toBe(404);
  });

  test("anybody, when RATE_LIMITS is off", async () => {
    for (let n = 0; n < ATTEMPTS; n++)
      expect((await app.request(PUBLIC, {}, env)).status).toBe(404);
  });
});
