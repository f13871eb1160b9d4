/** Restarts of the control plane while predictions are under way: nothing accepted is lost. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, test } from "vitest";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { countRows } from "../support/objects.ts";
import { newWorld } from "../support/world.ts";

test("a create that waits through a restart answers with a prediction that goes on", async () => {
  const { client, model, runner, user_id } = await newWorld();
  const creating = client.json<{ id: string }>(
    "POST",
    "/v1/predictions",
    { model, input: {} },
    { prefer: "wait=20" },
  );
  const one = await runner();
  const { job, channel } = await one.work();
  await channel.output("a");
  await abortAllDurableObjects();
  const { status, body } = await creating;
  expect(status).toBe(202);
  expect(body.id).toBe(job.prediction_id);
  expect(await countRows(user_id)).toBe(1);
  const again = await one.connect(job);
  expect(again.welcomed).toBe(2);
  await again.succeed("b");
  expect(await client.get(job.prediction_id)).toMatchObject({
    status: "succeeded",
    output: ["a", "b"],
  });
});

test("a create with an Idempotency-Key that waits through a restart answers, too", async () => {
  const { client, model, runner } = await newWorld();
  const headers = { prefer: "wait=20", "idempotency-key": "k" };
  const creating = client.json<{ id: string }>(
    "POST",
    "/v1/predictions",
    { model, input: {} },
    headers,
  );
  const { job } = await (await runner()).work();
  await abortAllDurableObjects();
  const { status, body } = await creating;
  expect([status, body.id]).toEqual([202, job.prediction_id]);
});

test("a stream that a restart breaks off has no `done`, and is resumed where it was", async () => {
  const { client, begun } = await newWorld();
  const { id, job, runner, channel } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  await channel.output("a");
  const before = await reader.take(4);
  await abortAllDurableObjects();
  const last = await reader.next().catch(() => undefined);
  expect(last).toBeUndefined();
  const resumed = eventsOf(client.stream(id, `?after_id=${before.at(-1)?.id}`));
  const again = await runner.connect(job);
  await again.succeed("b");
  expect(named([...before, ...(await resumed)], "output")).toEqual(["a", "b"]);
});

test("a prediction that waited before a restart is handed out by the new pool", async () => {
  const { waiting, runner } = await newWorld();
  const ids = [await waiting(), await waiting()];
  const one = await runner(2);
  await abortAllDurableObjects();
  const got = [await one.take(), await one.take()].map((job) => job.prediction_id);
  expect(got.toSorted()).toEqual(ids.toSorted());
});
