/** Shown events: runner events are shown before they are stored, others only once they are durable. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newCustomer, view } from "../support/customer.ts";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { objectOf } from "../support/objects.ts";
import { startClock, stopClock, withoutTimers } from "../support/time.ts";
import { output } from "../support/unstored.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

test("a GET returns only stored events, and a page goes on from there", async () => {
  const who = await newCustomer();
  const id = await who.waiting();
  const { channel } = await (await who.runner()).work();
  const reader = new EventReader((await who.client.stream(id)).body);
  const html = await withoutTimers(async () => {
    await channel.output("a");
    channel.push([output("b")]);
    await reader.take(5);
    expect((await who.client.get(id)).output).toEqual(["a"]);
    return view(who, id);
  });
  expect(html).not.toContain("b</div>");
  const [, last] = /data-last="(\d+)"/.exec(html) ?? [];
  const page = eventsOf(who.visitor.fetch(`/predictions/${id}/events?after_id=${last}`, {}));
  await channel.succeed("c");
  expect(named(await page, "output")).toEqual(["b", "c"]);
  expect((await who.client.get(id)).output).toEqual(["a", "b", "c"]);
});

/** Holds back `sync`, so that the object's writes are not durable until the returned function is called. */
async function holdDisk(id: string): Promise<() => Promise<void>> {
  const object = await objectOf(id);
  const held: (() => void)[] = [];
  const sync = () => new Promise<void>((resolve) => held.push(resolve));
  await runInDurableObject(object, (_, { storage }) => {
    vi.spyOn(storage, "sync").mockImplementation(sync);
  });
  return () =>
    runInDurableObject(object, async () => {
      // Writes that the released ones cause call `sync` again.
      while (held.length > 0) {
        for (const resolve of held.splice(0)) resolve();
        await scheduler.wait(1);
      }
    });
}

/** The next event, and whether it has arrived. */
function awaited(reader: EventReader) {
  const came = vi.fn();
  return { came, next: reader.next().finally(came) };
}

test("an output is shown at once, an end once it is durable", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  await reader.take(3);
  const release = await holdDisk(id);
  await channel.output("a");
  expect(await reader.next()).toMatchObject({ data: "a" });
  const { came, next } = awaited(reader);
  await channel.succeed("b");
  expect(await client.status(id)).toBe("succeeded");
  expect(came).not.toHaveBeenCalled();
  await release();
  expect(await next).toMatchObject({ data: "b" });
  expect((await reader.rest()).map(({ event }) => event)).toEqual(["status", "done"]);
});

test("a retry and the start of the next attempt are shown once they are durable", async () => {
  const { client, begun } = await newWorld();
  const { id, job, channel, runner } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  await reader.take(3);
  const release = await holdDisk(id);
  const retry = awaited(reader);
  channel.send({ type: "release", reason: "shutting down" });
  const next = await runner.take();
  expect(retry.came).not.toHaveBeenCalled();
  await release();
  expect(await retry.next).toMatchObject({ data: { returned: job.attempt } });
  const start = awaited(reader);
  const again = await runner.connect(next);
  await again.output("a");
  expect((await client.get(id)).output).toEqual(["a"]);
  expect(start.came).not.toHaveBeenCalled();
  await release();
  expect(await start.next).toMatchObject({ data: { attempt: next.attempt } });
  expect(await reader.next()).toMatchObject({ data: "a" });
  await again.succeed();
});
