/** Test deliveries: their requests, and their outcomes for receivers that fail. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { webhookPayload } from "../../../src/protocol/webhook-payload.ts";
import { verifyWebhook } from "../../../src/receiver/index.ts";
import { getServices } from "../../../src/services/services.ts";
import { testEndpoint as testWith } from "../../../src/services/webhooks/test-delivery.ts";
import type { Behaviour, Received } from "../../receiver/exchange.ts";
import { ORIGIN } from "../support/client.ts";
import {
  addSecret,
  changeEndpoint,
  getEndpoint,
  newEndpoint,
  testEndpoint,
  WEBHOOK_ENDPOINTS,
} from "../support/endpoints.ts";
import { addressOf, freshPath, received, script } from "../support/receiver.ts";
import { newUser } from "../support/world.ts";

/** Makes an endpoint of a new user at a path of the receiver. */
async function newReceiver(...behaviours: Behaviour[]) {
  const path = freshPath();
  if (behaviours.length > 0) await script(path, ...behaviours);
  const { client, user_id } = await newUser();
  const { id, secret, secrets } = await newEndpoint(client, { url: addressOf(path) });
  return { path, client, user_id, id, secret, secrets };
}

const isSignedWith = (one: Received | undefined, secret: string) =>
  verifyWebhook({ headers: one?.headers ?? {}, body: one?.body ?? "" }, secret).then(
    () => true,
    () => false,
  );

describe("a test delivery", () => {
  test("a test delivery is a signed webhook about an invented prediction", async () => {
    const { path, client, id, secret } = await newReceiver();
    const before = Date.now();
    const outcome = await testEndpoint(client, id);
    expect(outcome).toEqual({
      at: expect.any(String),
      status: 200,
      duration_ms: expect.any(Number),
      error: null,
      response: null,
      delivered: true,
    });
    expect(Date.parse(outcome.at)).toBeGreaterThanOrEqual(before);
    const [one, ...others] = await received(path, 1);
    expect(others).toEqual([]);
    expect(one?.method).toBe("POST");
    expect(one?.headers["content-type"]).toBe("application/json");
    const payload = webhookPayload.strict().parse(JSON.parse(one?.body ?? ""));
    expect(payload).toMatchObject({
      status: "succeeded",
      model: { owner: "demo", name: "hello" },
      output: "Hello, you!",
      url: `${ORIGIN}/v1/predictions/${payload.id}`,
      webhook: { id: `evt_${payload.id}_0`, event: "test", sequence: 0 },
    });
    expect(one?.headers["webhook-id"]).toBe(payload.webhook.id);
    expect(await isSignedWith(one, secret)).toBe(true);
    expect((await client.json("GET", `/v1/predictions/${payload.id}`)).status).toBe(404);
  });

  test("a test delivery has a new id each time", async () => {
    const { path, client, id } = await newReceiver();
    await testEndpoint(client, id);
    await testEndpoint(client, id);
    const ids = (await received(path, 2)).map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(2);
  });

  test("a test delivery is signed with each secret of the endpoint", async () => {
    const { path, client, id, secret: first, secrets } = await newReceiver();
    const { secret: second } = await addSecret(client, id);
    await testEndpoint(client, id);
    await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}/secrets/${secrets[0]?.id}`);
    await testEndpoint(client, id);
    const [both, one] = await received(path, 2);
    expect([await isSignedWith(both, first), await isSignedWith(both, second)]).toEqual([
      true,
      true,
    ]);
    expect([await isSignedWith(one, first), await isSignedWith(one, second)]).toEqual([
      false,
      true,
    ]);
    expect(both?.headers["auspex-webhook-signature"]).toMatch(
      /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/,
    );
  });

  test("a test delivery goes to an endpoint that is off, and leaves it off", async () => {
    const { path, client, id } = await newReceiver();
    await changeEndpoint(client, id, { enabled: false });
    expect(await testEndpoint(client, id)).toMatchObject({ delivered: true });
    expect(await received(path, 1)).toHaveLength(1);
    expect(await getEndpoint(client, id)).toMatchObject({ enabled: false });
  });
});

describe("a receiver that fails", () => {
  test.each<[Behaviour, number | null, RegExp]>([
    [{ status: 500 }, 500, /^responded with status 500$/],
    [{ status: 302, headers: { location: "/elsewhere" } }, 302, /redirects are not followed/],
    [{ status: 410 }, 410, /^responded with status 410/],
    [{ status: 429, headers: { "retry-after": "60" } }, 429, /^responded with status 429$/],
    ["reset", null, /connection/],
    ["garbage", null, /./],
  ])(
    "a receiver that answers %j is reported, without a retry or a change of the endpoint",
    async (how, status, error) => {
      const { path, client, id } = await newReceiver(how);
      const before = await getEndpoint(client, id);
      expect(await testEndpoint(client, id)).toMatchObject({
        status,
        error: expect.stringMatching(error),
        delivered: false,
      });
      expect(await received(path)).toHaveLength(1);
      expect(await getEndpoint(client, id)).toEqual(before);
    },
  );

  test("a receiver that never answers is given up after the time of a delivery", async () => {
    const { user_id, id } = await newReceiver("silent");
    const { settings, ...services } = getServices(env);
    const hasty = { ...settings, webhooks: { ...settings.webhooks, timeoutMs: 100 } };
    const caller = {
      token_id: "",
      user_id,
      maker: "",
      role: "owner" as const,
      scopes: [],
      models: null,
      priority: null,
    };
    const outcome = await testWith({ ...services, settings: hasty }, caller, id, ORIGIN);
    expect(outcome).toMatchObject({ status: null, error: "no response within 0.1 s" });
    expect(outcome.duration_ms).toBeGreaterThanOrEqual(95);
  });

  test("a receiver's response is shown without the endpoint's secrets", async () => {
    const { path, client, id, secret } = await newReceiver();
    await script(path, { status: 500, body: `yours is ${secret}` });
    expect(await testEndpoint(client, id)).toMatchObject({ response: "yours is …" });
    for (const path of [WEBHOOK_ENDPOINTS, `${WEBHOOK_ENDPOINTS}/${id}`])
      expect(JSON.stringify(await client.ok("GET", path))).not.toContain(secret);
  });
});
