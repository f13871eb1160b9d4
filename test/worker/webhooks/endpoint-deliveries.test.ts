/** Deliveries of an account's predictions to its endpoints. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { register, run } from "../support/endpoint-runs.ts";
import { addSecret, changeEndpoint, getEndpoint, WEBHOOK_ENDPOINTS } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { storeValue } from "../support/files.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { eventsOf, expectSigned, ledger, settled, told } from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

describe("an endpoint", () => {
  test("an endpoint gets events of every prediction of its account, by its filter", async () => {
    const world = await newWorld();
    const every = await register(world, { events: ["started", "output", "completed"] });
    const ends = await register(world, { events: ["completed"] });
    const [first, second] = [await run(world), await run(world)];
    const ids = (await exchanged(ends.path, 2)).map(({ body }) => JSON.parse(body).id);
    expect(ids.toSorted()).toEqual([first, second].toSorted());
    for (const one of await received(ends.path)) await expectSigned(one, ends.secret);
    await eventually(async () => {
      const events = (await received(every.path)).map(({ body }) => JSON.parse(body).webhook.event);
      expect(events.filter((event) => event === "completed")).toHaveLength(2);
    });
  });

  test("an endpoint that is off or deleted gets no redelivery, and its delivery stays delivered", async () => {
    const world = await newWorld();
    const { id: endpoint } = await register(world, { events: ["completed"] });
    const { client } = world;
    const id = await run(world);
    const [event] = await settled(client, id, "delivered");
    const again = () =>
      client.json<{ detail: string }>(
        "POST",
        `/v1/predictions/${id}/webhooks/${event?.id}/redeliver?receiver=${endpoint}`,
      );
    await changeEndpoint(client, endpoint, { enabled: false });
    const off = await again();
    expect([off.status, off.body.detail]).toEqual([409, expect.stringMatching(/enable it/)]);
    await client.json("DELETE", `${WEBHOOK_ENDPOINTS}/${endpoint}`);
    const gone = await again();
    expect([gone.status, gone.body.detail]).toEqual([409, expect.stringMatching(/deleted/)]);
    expect((await ledger(client, id)).at(-1)?.deliveries).toMatchObject([{ state: "delivered" }]);
  });

  test("an endpoint of another account gets no events", async () => {
    const world = await newWorld();
    const other = await newWorld();
    const { path } = await register(other);
    const id = await run(world);
    expect(await ledger(world.client, id)).toEqual([]);
    expect(await received(path)).toEqual([]);
  });

  test("an endpoint and the prediction's webhook get the same body, each signed with its own secret", async () => {
    const world = await newWorld();
    const endpoint = await register(world, { events: ["completed"] });
    const path = freshPath();
    const webhook = { url: addressOf(path), secret: "a secret of its own", events: ["completed"] };
    const id = await run(world, { webhook });
    const [event] = await settled(world.client, id, "delivered", "delivered");
    expect(event?.deliveries.map(({ endpoint_id, url }) => [endpoint_id, url])).toEqual([
      [null, addressOf(path)],
      [endpoint.id, endpoint.url],
    ]);
    const [own] = await exchanged(path);
    const [others] = await exchanged(endpoint.path);
    expect(own?.body).toBe(others?.body);
    expect(own?.headers["webhook-id"]).toBe(others?.headers["webhook-id"]);
    if (own && others) {
      await expectSigned(own, "a secret of its own");
      await expectSigned(others, endpoint.secret);
    }
  });

  test("an endpoint's deliveries are signed with all secrets that it has at the time", async () => {
    const world = await newWorld();
    const { id, path, secret } = await register(world, { events: ["completed"] });
    const second = await addSecret(world.client, id);
    await run(world);
    const [both] = await exchanged(path);
    if (both) await expectSigned(both, secret, second.secret);
    const [first] = (await getEndpoint(world.client, id)).secrets;
    await world.client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}/secrets/${first?.id}`);
    await run(world);
    const [, last] = await exchanged(path, 2);
    if (last) await expectSigned(last, second.secret);
  });

  test("an endpoint that never answers delays no other", async () => {
    const world = await newWorld();
    const silent = await Promise.all([1, 2, 3].map(() => register(world)));
    for (const { path } of silent) await script(path, "silent");
    const quick = await register(world);
    const path = freshPath();
    await run(world, { webhook: { url: addressOf(path) } });
    expect(eventsOf(await told(quick.path, 2)).map(([event]) => event)).toEqual([
      "started",
      "completed",
    ]);
    await told(path, 2);
    // Each silent endpoint has one attempt under way, behind which its other event waits.
    for (const one of silent) expect(await received(one.path, 1)).toHaveLength(1);
    await abortAllDurableObjects();
  });
});

describe("a pending delivery", () => {
  /** Makes a prediction whose only delivery has failed once. */
  async function failed() {
    const world = await newWorld();
    const endpoint = await register(world, { events: ["completed"] });
    await script(endpoint.path, { status: 500 }, { status: 200 });
    const id = await run(world);
    await settled(world.client, id, "pending");
    return { ...world, world, endpoint, id };
  }

  test("a pending delivery uses the endpoint's new URL and secrets", async () => {
    const { world, endpoint, id, client } = await failed();
    const path = freshPath();
    await changeEndpoint(world.client, endpoint.id, { url: addressOf(path) });
    const { secret } = await addSecret(client, endpoint.id);
    await passes(7, id);
    const [one] = await exchanged(path);
    if (one) await expectSigned(one, endpoint.secret, secret);
    await settled(client, id, "delivered");
  });

  test("a pending delivery is not posted until its endpoint is switched on again", async () => {
    const { world, endpoint, id, client } = await failed();
    await changeEndpoint(world.client, endpoint.id, { enabled: false });
    await passes(7, id);
    const [event] = await eventually(async () => {
      const events = await settled(client, id, "pending");
      expect(events[0]?.deliveries[0]?.attempts).toHaveLength(2);
      return events;
    });
    expect(event?.deliveries[0]?.attempts[1]).toMatchObject({
      status: null,
      error: "the endpoint is switched off",
    });
    expect(await received(endpoint.path)).toHaveLength(1);
    // An attempt while the endpoint is off does not count as its failure.
    expect((await getEndpoint(world.client, endpoint.id)).notice).toBeNull();
    await changeEndpoint(world.client, endpoint.id, { enabled: true });
    await passes(40, id);
    await settled(client, id, "delivered");
  });

  test("a pending delivery fails when its endpoint is deleted", async () => {
    const { endpoint, id, client } = await failed();
    await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${endpoint.id}`);
    await passes(7, id);
    const [event] = await settled(client, id, "failed");
    expect(event?.deliveries[0]).toMatchObject({
      url: null,
      attempts: [{ status: 500 }, { error: "the endpoint has been deleted" }],
    });
  });
});

describe("the health of an endpoint", () => {
  test("an endpoint's health ignores attempts that the service could not prepare", async () => {
    const world = await newWorld();
    const { id, path } = await register(world, { events: ["completed"] });
    const { body } = await world.client.create({ model: world.model, input: {} });
    const runner = await world.runner();
    const { job, channel } = await runner.work();
    await channel.report([await storeValue(runner, job, "v".repeat(300_000))]);
    vi.spyOn(env.FILES, "get").mockRejectedValue(new Error("R2 is down"));
    await channel.report([], { status: "succeeded", output: "value" });
    const [event] = await settled(world.client, body.id, "pending");
    expect(event?.deliveries[0]?.attempts).toMatchObject([
      { status: null, error: "the service could not prepare it" },
    ]);
    expect(await getEndpoint(world.client, id)).toMatchObject({ failing_since: null });
    expect(await received(path)).toEqual([]);
  });

  test("an endpoint's health follows its last deliveries", async () => {
    const world = await newWorld();
    const { id, path } = await register(world, { events: ["completed"] });
    await script(path, { status: 503 }, { status: 200 });
    const prediction = await run(world);
    await eventually(async () =>
      expect(await getEndpoint(world.client, id)).toMatchObject({
        enabled: true,
        failing_since: expect.any(String),
        last_error: "responded with status 503",
      }),
    );
    await passes(7, prediction);
    await eventually(async () =>
      expect(await getEndpoint(world.client, id)).toMatchObject({
        failing_since: null,
        last_error: null,
      }),
    );
  });

  test("an endpoint that responds with 410 is switched off, with a notice", async () => {
    const world = await newWorld();
    const { id, path } = await register(world);
    await script(path, { status: 410 }, { status: 200 });
    const { body } = await world.client.create({ model: world.model, input: {} });
    const { channel } = await (await world.runner()).work();
    await eventually(async () =>
      expect(await getEndpoint(world.client, id)).toMatchObject({
        enabled: false,
        notice: expect.stringMatching(/410/),
      }),
    );
    const next = await world.waiting();
    expect(await ledger(world.client, next)).toEqual([]);
    // Events of the time when it was off are delivered once it is on again.
    await channel.succeed("one");
    await settled(world.client, body.id, "failed", "pending");
    await changeEndpoint(world.client, id, { enabled: true });
    await passes(7, body.id);
    await settled(world.client, body.id, "failed", "delivered");
  });
});
