/** The ledger of webhooks, and the redelivery of events. */
import { describe, expect, test } from "vitest";
import type { Refusal } from "../support/client.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { ledger, settled, watched } from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

const SECRET = "a secret of the tests";
const DAY = 86_400;

describe("redelivering", () => {
  const again = (id: string, event: string, query = "") =>
    `/v1/predictions/${id}/webhooks/${event}/redeliver${query}`;

  test("a redelivery posts the same body once more", async () => {
    const { client, path, id, channel } = await watched();
    await channel.succeed("one");
    await settled(client, id, "delivered", "delivered");
    const answer = await client.json("POST", again(id, `evt_${id}_2`));
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ id: `evt_${id}_2`, deliveries: [{ state: "pending" }] });
    const all = await exchanged(path, 3);
    expect(all[2]?.body).toBe(all.find(({ body }) => body.includes('"started"'))?.body);
    await settled(client, id, "delivered", "delivered");
  });

  test("a redelivery works after the delivery was given up", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await script(path, { status: 410 }, { status: 200 });
    await channel.succeed("one");
    const [event] = await settled(client, id, "failed");
    await client.json("POST", again(id, event?.id ?? "", "?receiver=prediction"));
    await settled(client, id, "delivered");
  });

  test("a redelivery of an unknown event, receiver or prediction is a 404", async () => {
    const world = await watched({ events: ["completed"] });
    const { client, id, channel } = world;
    await channel.succeed();
    const [event] = await settled(client, id, "delivered");
    const other = crypto.randomUUID();
    for (const path of [
      again(id, `evt_${id}_1`),
      again(id, `evt_${other}_${event?.sequence}`),
      again(id, event?.id ?? "", `?receiver=${other}`),
    ]) {
      expect((await client.json<Refusal>("POST", path)).body.detail).toMatch(/was not found/);
    }
    const stranger = await world.stranger();
    expect((await stranger.json("POST", again(id, event?.id ?? ""))).status).toBe(404);
    expect((await stranger.json("GET", `/v1/predictions/${id}/webhooks`)).status).toBe(404);
  });
});

describe("the ledger", () => {
  test("the ledger shows neither secrets nor the query of a URL", async () => {
    const world = await newWorld();
    const path = freshPath();
    const url = `${addressOf(path)}?token=hunter2`;
    const webhook = { url, secret: SECRET };
    const { client, model } = world;
    const { body } = await client.create({ model, input: {}, webhook });
    const { channel } = await (await world.runner()).work();
    await channel.succeed();
    await settled(client, body.id, "delivered", "delivered");
    const answers = [
      await client.json("GET", `/v1/predictions/${body.id}/webhooks`),
      await client.json("GET", `/v1/predictions/${body.id}`),
      await client.json("POST", `/v1/predictions/${body.id}/webhooks/evt_${body.id}_2/redeliver`),
    ];
    for (const answer of answers) {
      expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|a secret of the tests/);
    }
    const [first] = await received(path);
    expect(first?.query).toBe("?token=hunter2");
  });

  test("the ledger of a prediction without webhooks is empty", async () => {
    const { client, waiting } = await newWorld();
    expect(await ledger(client, await waiting())).toEqual([]);
  });

  test("the ledger is kept for more than a day", async () => {
    stopClock();
    try {
      const { client, id, channel } = await watched();
      await channel.succeed();
      await settled(client, id, "delivered", "delivered");
      advance(DAY);
      expect(await ledger(client, id)).toHaveLength(2);
    } finally {
      startClock();
    }
  });
});
