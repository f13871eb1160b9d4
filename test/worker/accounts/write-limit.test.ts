/** The limit of an account's writes to D1 and R2, over all its requests. */
import { createExecutionContext, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bindings, settings } from "../../../src/env.ts";
import { duringRequest } from "../../../src/lib/current-request.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import { withinWriteLimit } from "../../../src/services/access/write-limit.ts";
import { getServices } from "../../../src/services/services.ts";
import worker from "../../../src/worker.ts";
import { newModel, pathOf } from "../support/catalogue.ts";
import { Client, ORIGIN, type Refusal } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { beginUpload } from "../support/files.ts";
import { type Account, accountOf } from "../support/objects.ts";
import { Repository } from "../support/registry.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, unique } from "../support/world.ts";

/** A rate limit that lets everything pass. */
const open: RateLimit = { limit: async () => ({ success: true }) };

/** Rates with which a bucket has 3,000 rows and 400 kB. */
const LOW = { rows: 50, bytes: 1_000 };

const limited: Bindings = Object.assign({}, env, {
  RATE_LIMITS: "on",
  RATE_LIMIT_NUMBERS: {},
  RATE_LIMIT_ADDRESS: open,
  RATE_LIMIT_TOKEN: open,
  RATE_LIMIT_USER: open,
  RATE_LIMIT_WRITES: open,
  RATE_LIMIT_PREDICTIONS: open,
  RATE_LIMIT_REGISTRY: open,
});

class LimitedClient extends Client {
  override async fetch(
    path: string,
    init: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const headers = {
      ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
      ...init.headers,
    };
    const request = new Request(new URL(path, ORIGIN), { ...init, headers });
    return worker.fetch(request, limited, createExecutionContext());
  }
}

const usual = { ...settings(env).writeRates };

const setRates = (account: Account, rates: typeof LOW) =>
  runInDurableObject(account, (object) => {
    Object.assign(settings(Reflect.get(object, "env")).writeRates, rates);
  });

async function limitedUser() {
  const { client: plain, user_id, username } = await newUser();
  const client = new LimitedClient(plain.token);
  // The first write makes the account's object.
  await client.ok("PATCH", "/v1/user", { bio: "b" });
  const account = (await accountOf(user_id)) ?? expect.fail();
  await setRates(account, LOW);
  restore = () => setRates(account, usual);
  return { client, plain, user_id, username, account };
}

let restore = async () => {};

const send = (url: string | undefined, bytes: number) =>
  new LimitedClient(undefined).fetch(url ?? expect.fail(), {
    method: "PUT",
    body: new Uint8Array(bytes),
    headers: { "content-length": String(bytes) },
  });

const REFUSED = { detail: expect.stringMatching(/reached its write limit.*Wait \d+ seconds/) };

beforeEach(() => {
  stopClock();
});
afterEach(async () => {
  startClock();
  await restore();
});

test("an account that writes too many rows has to wait, and other accounts do not", async () => {
  const { client, plain } = await limitedUser();
  const path = pathOf(await newModel(plain));
  let n = 0;
  const change = () =>
    client.json<Refusal>("PATCH", path, {
      overview: Array.from({ length: 250 }, () => (n++ + 46_656).toString(36)).join(" "),
    });
  const first = await change();
  expect(first.status).toBe(200);
  const refused = await eventually(async () => {
    const answer = await change();
    expect(answer.status).toBe(429);
    return answer;
  });
  expect(refused.body).toMatchObject(REFUSED);
  const seconds = Number(refused.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  const other = await limitedUser();
  expect((await other.client.json("POST", "/v1/models", { name: "one" })).status).toBe(200);
  advance(60);
  expect((await change()).status).toBe(200);
});

test("rows that a route declares and does not write are given back", async () => {
  const { client } = await limitedUser();
  for (let n = 0; n < 10; n++) {
    // Each create declares a third of the bucket's rows.
    await eventually(async () => {
      const { status } = await client.json("POST", "/v1/models", { name: unique("small") });
      expect(status).toBe(200);
    });
  }
});

test("an aborted request gives back its unwritten rows, even if its task never ends", async () => {
  const { client, user_id } = await limitedUser();
  const broken = new AbortController();
  const settling: Promise<unknown>[] = [];
  const request = {
    signal: broken.signal,
    waitUntil: (one: Promise<unknown>) => void settling.push(one),
  };
  const cost = { rows: 3_000, bytes: 400_000 };
  const begun = new Promise<void>((resolve) => {
    const task = () => {
      resolve();
      return new Promise<never>(() => {});
    };
    void duringRequest(request, () => withinWriteLimit(getServices(limited), user_id, cost, task));
  });
  await begun;
  const create = () => client.json("POST", "/v1/models", { name: unique("after") });
  expect((await create()).status).toBe(429);
  broken.abort();
  await Promise.all(settling);
  expect((await create()).status).toBe(200);
});

test("parts of several uploads share the account's limit, also after a restart of its object", async () => {
  const { client, plain, account } = await limitedUser();
  const uploads: Upload[] = [];
  for (let n = 0; n < 3; n++) uploads.push(await beginUpload(plain, 150_000));
  const [first, second, third] = uploads.map(({ urls }) => urls[0]);
  expect((await send(first, 150_000)).status).toBe(200);
  expect((await send(second, 150_000)).status).toBe(200);
  await evictDurableObject(account);
  await setRates(account, LOW);
  const refused = await send(third, 150_000);
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject(REFUSED);
  expect((await client.json("GET", "/v1/user")).status).toBe(200);
  advance(60);
  expect((await send(third, 150_000)).status).toBe(200);
});

test("a layer without a length is charged as it arrives", async () => {
  const { client, username } = await limitedUser();
  const repository = new Repository(client, `${username}/${unique("image")}`);
  const push = async () => {
    const location = await repository.begin();
    const body = new Response("layer").body ?? expect.fail();
    const { status } = await repository.patch(location, body);
    return status;
  };
  expect(await push()).toBe(202);
  expect(await push()).toBe(429);
});
