/** Secrets of webhooks in storage: sealed if there is a key, while older plain ones stay valid. */

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { StoredWebhook } from "../../../src/domain/predictions/state.ts";
import { storedWebhook } from "../../../src/services/predictions/create-prediction.ts";
import { getServices } from "../../../src/services/services.ts";
import { createEndpoint, createSecret } from "../../../src/services/webhooks/endpoints.ts";
import type { EndpointSecret } from "../../../src/storage/webhooks/endpoints.ts";
import type { Client } from "../support/client.ts";
import {
  addSecret,
  changeEndpoint,
  newEndpoint,
  testEndpoint,
  WEBHOOK_ENDPOINTS,
} from "../support/endpoints.ts";
import { captureLog } from "../support/log.ts";
import { changeSpec, objectOf, specOf } from "../support/objects.ts";
import { addressOf, exchanged, freshPath, received } from "../support/receiver.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { expectSigned, settled, watched } from "../support/webhooks.ts";
import { newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const SECRET = "a secret of the tests";
const SEALED = /^v1\.[0-9a-f]{8}\.[\w-]+$/;
const SEALED_ONE = { secret: expect.stringMatching(SEALED), encrypted: true };

const services = getServices(env);
const keyless = { ...services, settings: { ...services.settings, secretKeys: [] } };

async function kept(endpointId: string): Promise<EndpointSecret[]> {
  const statement = env.DB.prepare("SELECT secrets FROM webhook_endpoints WHERE id = ?");
  return JSON.parse((await statement.bind(endpointId).first<string>("secrets")) ?? "[]");
}

const keep = (endpointId: string, secrets: object[]) =>
  env.DB.prepare("UPDATE webhook_endpoints SET secrets = ? WHERE id = ?")
    .bind(JSON.stringify(secrets), endpointId)
    .run();

const callerOf = (user_id: string) => ({
  token_id: "",
  user_id,
  maker: "",
  role: "owner" as const,
  scopes: [],
  models: null,
  priority: null,
});

/** Returns the only delivery that has arrived at an address. */
async function only(url: string) {
  const [one, ...more] = await exchanged(new URL(url).pathname);
  expect(more).toEqual([]);
  return one ?? expect.fail("nothing came");
}

/** Makes an endpoint with a plain secret, as before there was a key. */
async function olderEndpoint(client: Client) {
  const made = await newEndpoint(client);
  const [one] = await kept(made.id);
  await keep(made.id, [{ id: one?.id, secret: made.secret, created_at: one?.created_at }]);
  advance(10.1);
  return made;
}

describe("secrets of an endpoint", () => {
  test("an endpoint's secrets are sealed one by one, and sign as they were shown", async () => {
    const world = await newWorld();
    const path = freshPath();
    const { id, secret } = await newEndpoint(world.client, { url: addressOf(path) });
    const { secret: second } = await addSecret(world.client, id);
    const secrets = await kept(id);
    expect(secrets).toHaveLength(2);
    for (const one of secrets) expect(one).toMatchObject(SEALED_ONE);
    const { channel } = await world.begun();
    await channel.succeed("one");
    for (const one of await exchanged(path, 2)) await expectSigned(one, secret, second);
    expect(await testEndpoint(world.client, id)).toMatchObject({ delivered: true });
    const [last] = (await received(path)).slice(-1);
    await expectSigned(last ?? expect.fail("nothing came"), secret, second);
  });

  test("a sealed secret that was copied to another endpoint in D1 does not sign there", async () => {
    const { client } = await newUser();
    const [one, other] = [await newEndpoint(client), await newEndpoint(client)];
    await keep(other.id, await kept(one.id));
    expect(await client.json("POST", `${WEBHOOK_ENDPOINTS}/${other.id}/test`)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining("could not be decrypted") },
    });
  });

  test("an endpoint's plain secret still signs", async () => {
    const { client } = await newUser();
    const { id, url, secret } = await olderEndpoint(client);
    await testEndpoint(client, id);
    await expectSigned(await only(url), secret);
    expect(await kept(id)).toMatchObject([{ secret }]);
  });

  test.each<[string, (client: Client, id: string, user_id: string) => Promise<string[]>]>([
    [
      "a change",
      async (client, id) => {
        await changeEndpoint(client, id, { description: "x" });
        return [];
      },
    ],
    ["another secret", async (client, id) => [(await addSecret(client, id)).secret]],
    [
      "one secret less",
      async (client, id, user_id) => {
        const another = await createSecret(keyless, callerOf(user_id), id);
        await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}/secrets/${another.id}`);
        return [];
      },
    ],
  ])("an endpoint's plain secret is sealed with %s, and still signs", async (_, write) => {
    const { client, user_id } = await newUser();
    const { id, url, secret } = await olderEndpoint(client);
    const more = await write(client, id, user_id);
    expect(await kept(id)).toMatchObject([secret, ...more].map(() => SEALED_ONE));
    await testEndpoint(client, id);
    await expectSigned(await only(url), secret, ...more);
  });

  test("an endpoint's secrets stay plain if there is no key", async () => {
    const { user_id } = await newUser();
    const { row, secret } = await createEndpoint(keyless, callerOf(user_id), {
      url: addressOf(freshPath()),
      description: "",
      events: ["completed"],
      enabled: true,
    });
    expect(await kept(row.id)).toEqual([
      { id: expect.any(String), secret, created_at: expect.any(Number) },
    ]);
  });
});

describe("the secret of a prediction", () => {
  const keptOf = async (id: string) => specOf(await objectOf(id));

  /** Changes the stored webhook as if it had been stored so from the beginning. */
  async function changeWebhook(id: string, change: (webhook: StoredWebhook) => StoredWebhook) {
    const stub = await objectOf(id);
    await changeSpec(stub, (spec) => ({ ...spec, webhook: spec.webhook && change(spec.webhook) }));
    await evictDurableObject(stub, { webSockets: "hibernate" });
  }

  test("a prediction's secret is sealed in its record, and signs as it was given", async () => {
    const { id, path, channel } = await watched({ secret: SECRET });
    const spec = await keptOf(id);
    expect(spec.webhook).toEqual({ url: addressOf(path), ...SEALED_ONE });
    expect(JSON.stringify(spec)).not.toContain(SECRET);
    await channel.succeed("one");
    for (const one of await exchanged(path, 2)) await expectSigned(one, SECRET);
  });

  test("a prediction's plain secret still signs", async () => {
    const { id, path, channel } = await watched({ secret: SECRET });
    await changeWebhook(id, ({ url }) => ({ url, secret: SECRET }));
    await channel.succeed("one");
    for (const one of await exchanged(path, 2)) await expectSigned(one, SECRET);
  });

  test("a prediction's secret stays plain without a key, and a missing one stays missing", async () => {
    const webhook = { url: addressOf("/"), secret: SECRET };
    expect(await storedWebhook(keyless, "id", webhook)).toEqual(webhook);
    expect(await storedWebhook(services, "id", { url: "https://a.example/" })).toEqual({
      url: "https://a.example/",
    });
    expect(await storedWebhook(services, "id", null)).toBeNull();
    expect(await storedWebhook(services, "id", undefined)).toBeNull();
  });

  test("a delivery whose secret no key decrypts is tried again until one does", async () => {
    const log = captureLog("error");
    const { id, path, channel, client } = await watched({ secret: SECRET, events: ["completed"] });
    const { webhook } = await keptOf(id);
    const lost = webhook?.secret?.replace(/^v1\.\w{8}/, "v1.00000000");
    await changeWebhook(id, (one) => ({ ...one, secret: lost }));
    await channel.succeed("one");
    const [event] = await settled(client, id, "pending");
    expect(event?.deliveries[0]?.attempts).toMatchObject([
      { status: null, error: "the service could not prepare it" },
    ]);
    expect(JSON.stringify(log.mock.calls)).toContain("SECRET_KEY");
    expect(JSON.stringify(log.mock.calls)).not.toContain(SECRET);
    await changeWebhook(id, (one) => ({ ...one, secret: webhook?.secret }));
    await passes(6, id);
    await settled(client, id, "delivered");
    for (const one of await exchanged(path, 1)) await expectSigned(one, SECRET);
  });
});
