/** The attempt of a remote version: it starts, streams, ends, is canceled, and loses one of its objects. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { RemoteObject } from "../../../src/objects/remote/object.ts";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { objectOf } from "../support/objects.ts";
import {
  completion,
  KEY,
  killRemoteObjects,
  newRemoteWorld,
  openStreamOf,
  streamOf,
} from "../support/remote.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

afterEach(startClock);

test("a remote version is called with its key and its own model name, without a runner", async () => {
  const world = await newRemoteWorld();
  await world.answers(completion("Hello"));
  const { status, body } = await world.client.create(
    { model: world.model, input: { messages: [{ role: "user", content: "Hi" }] } },
    { prefer: "wait=20" },
  );
  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: "succeeded",
    output: { model: world.model, choices: [{ message: { content: "Hello" } }] },
    metrics: { input_tokens: 7, output_tokens: 2 },
  });
  const [request] = await world.requests();
  expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(JSON.parse(request?.body ?? "")).toEqual({
    model: "gpt-far",
    messages: [{ role: "user", content: "Hi" }],
  });
});

test("a stream is passed on as it comes", async () => {
  const world = await newRemoteWorld();
  await world.answers(openStreamOf("Hel"), streamOf("x"));
  const id = await world.chat({ stream: true });
  const reader = new EventReader((await world.client.stream(id)).body);
  const events = await reader.take(4);
  expect(named(events, "output")).toMatchObject([{ choices: [{ delta: { content: "Hel" } }] }]);
  await world.client.cancel(id);
  await world.over();
  await eventually(async () => expect(await world.client.status(id)).toBe("canceled"));
});

test("a stream that ends gives its texts, the end and the usage", async () => {
  const world = await newRemoteWorld();
  await world.answers(streamOf("Hel", "lo"));
  const id = await world.chat({ stream: true });
  const events = await eventsOf(world.client.stream(id));
  expect(named(events, "output")).toHaveLength(3);
  expect(named(events, "status")).toMatchObject([
    { status: "pending" },
    { status: "started", attempt: 1 },
    { status: "succeeded" },
  ]);
  expect(JSON.stringify(events)).not.toContain(KEY);
});

test("a cancel before the host has answered closes the connection to it", async () => {
  const world = await newRemoteWorld();
  await world.answers("silent");
  const id = await world.chat();
  await world.requests();
  await world.client.cancel(id);
  await world.over();
  await eventually(async () => expect(await world.client.status(id)).toBe("canceled"));
});

test("a host that is silent is left at the time limit", async () => {
  stopClock();
  const world = await newRemoteWorld({ timeout_seconds: 5 });
  await world.answers("silent");
  const id = await world.chat();
  await world.requests();
  await passes(6, id);
  expect(await world.client.get(id)).toMatchObject({
    status: "failed",
    error: { source: "external", message: "The model did not finish within 5 s." },
  });
  await world.over();
});

describe("when the remote object dies", () => {
  test("a call that it had not begun is begun by another", async () => {
    vi.spyOn(RemoteObject.prototype, "run").mockResolvedValueOnce();
    onTestFinished(() => void vi.restoreAllMocks());
    const world = await newRemoteWorld();
    await world.answers(completion("Hello"));
    stopClock();
    const id = await world.chat();
    await passes(6, id);
    await passes(3, id);
    await eventually(async () => expect(await world.client.status(id)).toBe("succeeded"));
    expect(await world.requests()).toHaveLength(1);
  });

  test("a call that was sent is not sent again", async () => {
    const world = await newRemoteWorld();
    await world.answers("silent");
    const id = await world.chat();
    await world.requests();
    stopClock();
    expect(await killRemoteObjects()).toBeGreaterThan(0);
    await world.over();
    await passes(41, id);
    expect(await world.client.get(id)).toMatchObject({
      status: "failed",
      error: {
        source: "internal",
        message: expect.stringContaining("lost the call to the remote host"),
      },
    });
    expect(await world.requests()).toHaveLength(1);
  });

  test("a call whose version is repeatable is sent again", async () => {
    const world = await newRemoteWorld({ repeatable: true });
    await world.answers("silent", completion("again"));
    const id = await world.chat();
    await world.requests();
    stopClock();
    await killRemoteObjects();
    await world.over();
    await passes(41, id);
    await passes(3, id);
    await world.requests(2);
    await eventually(async () => expect(await world.client.status(id)).toBe("succeeded"));
    const statuses = named(await eventsOf(world.client.stream(id)), "status");
    expect(statuses).toMatchObject([
      { status: "pending" },
      { status: "started", attempt: 1 },
      { status: "started", lost: 1 },
      { status: "started", attempt: 2 },
      { status: "succeeded" },
    ]);
  });

  test("a call with output is not sent again, even if its version is repeatable", async () => {
    const world = await newRemoteWorld({ repeatable: true });
    await world.answers(openStreamOf("Hel"));
    const id = await world.chat({ stream: true });
    const reader = new EventReader((await world.client.stream(id)).body);
    await reader.take(4);
    stopClock();
    await killRemoteObjects();
    await world.over();
    await passes(41, id);
    expect(await world.client.get(id)).toMatchObject({
      status: "failed",
      error: { message: "The call to the remote host was lost after output had started." },
    });
  });
});

describe("when the prediction object dies", () => {
  const kill = async (id: string) => {
    const object = await objectOf(id);
    await runInDurableObject(object, (_, ctx) => ctx.abort("killed")).catch(() => {});
  };

  test("a call that waits for its answer goes on", async () => {
    const world = await newRemoteWorld();
    await world.answers({ ...completion("late"), held: true });
    const id = await world.chat();
    await world.requests();
    await kill(id);
    await world.release();
    await eventually(async () => expect(await world.client.status(id)).toBe("succeeded"));
    expect(await world.requests()).toHaveLength(1);
  });

  test("a stream goes on, and its readers resume it", async () => {
    const world = await newRemoteWorld();
    await world.answers(openStreamOf("Hel"));
    const id = await world.chat({ stream: true });
    const reader = new EventReader((await world.client.stream(id)).body);
    await reader.take(4);
    await kill(id);
    await world.client.cancel(id);
    await world.over();
    await eventually(async () => expect(await world.client.status(id)).toBe("canceled"));
    const events = await eventsOf(world.client.stream(id));
    expect(named(events, "output")).toHaveLength(1);
  });
});

test("a call whose two objects die together ends with the same error", async () => {
  const world = await newRemoteWorld();
  await world.answers("silent");
  const id = await world.chat();
  await world.requests();
  await abortAllDurableObjects();
  await world.over();
  stopClock();
  for (let times = 0; times < 3; times++) await passes(41, id);
  expect(await world.client.get(id)).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("lost the call to the remote host") },
  });
});
