/** Short runs that their caller waits for: each has one row, in its final form, which its object writes. */
import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { logger } from "../../../src/log.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { storeFile } from "../support/files.ts";
import { countRows, inAccount, objectOf, refuseRows, rowOf } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import {
  bodyOf,
  createWith,
  objectsOf,
  reportTo,
  shortRun,
  statusOf,
  WAIT,
  waitingRunner,
} from "../support/short-runs.ts";
import { advance, startClock, stopClock, withoutTimers } from "../support/time.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** Runs `act` while no row can be written. */
async function withoutRows<T>(act: () => Promise<T>): Promise<T> {
  const refusing = refuseRows();
  try {
    return await act();
  } finally {
    refusing.mockRestore();
  }
}

/** Ends all predictions of an account, so that no waiting call lasts into the next file's reset. */
async function cancelAll({ user_id, client }: World): Promise<void> {
  for (const { id } of await inAccount(user_id, "SELECT id FROM predictions"))
    expect(await client.cancel(id)).toBe(202);
}

test("a short run answers with the result, and leaves one row, which is never updated", async () => {
  const world = await newWorld();
  const put = vi.spyOn(AccountObject.prototype, "put");
  const { id, status, output } = await shortRun(world);
  expect([status, output]).toEqual(["succeeded", "hi"]);
  expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  expect(put).toHaveBeenCalledTimes(1);
  expect(await alarmOf(await objectOf(id))).toBeNull();
  expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: "hi" });
});

describe("a short run whose row cannot be written", () => {
  test("a create answers with the result although no row was written, and the alarm writes the row", async () => {
    const world = await newWorld();
    const { result, objects } = await objectsOf(() =>
      withoutRows(async () => {
        const failed = vi.spyOn(logger, "warn");
        const run = await shortRun(world);
        await eventually(() =>
          expect(failed).toHaveBeenCalledWith("Prediction row not written", expect.anything()),
        );
        return run;
      }),
    );
    expect(result.status).toBe("succeeded");
    expect(await rowOf(result.id)).toBeNull();
    for (const object of objects) {
      expect(await alarmOf(object)).toBeLessThanOrEqual(Date.now() + 10_000);
      advance(10);
      await runDurableObjectAlarm(object);
      expect(await alarmOf(object)).toBeGreaterThan(Date.now() + 86_400_000);
    }
    expect(await rowOf(result.id)).toMatchObject({ status: "succeeded" });
  });

  test("an alarm writes the row when the object has died in between", async () => {
    const world = await newWorld();
    const { result, objects } = await objectsOf(async () => {
      const { id } = await withoutRows(() => shortRun(world));
      await abortAllDurableObjects();
      return id;
    });
    expect(await rowOf(result)).toBeNull();
    advance(10);
    await Promise.all(objects.map((object) => runDurableObjectAlarm(object)));
    expect(await rowOf(result)).toMatchObject({ status: "succeeded" });
  });
});

describe("a run that lasts", () => {
  test("a run that lasts has no row at first", async () => {
    const world = await newWorld();
    await withoutTimers(async () => {
      const creating = createWith(world);
      const { job, channel } = await (await world.runner()).work();
      await channel.output("a");
      expect(await rowOf(job.prediction_id)).toBeNull();
      await channel.succeed("b");
      expect((await creating).body).toMatchObject({ status: "succeeded", output: ["a", "b"] });
    });
  });

  test("a run that lasts has a row before its end", async () => {
    const world = await newWorld();
    const creating = createWith(world);
    const { job, channel } = await (await world.runner()).work();
    await eventually(async () =>
      expect(await rowOf(job.prediction_id)).toMatchObject({ status: "started" }),
    );
    await channel.succeed("a");
    expect((await creating).body.status).toBe("succeeded");
  });

  test("a run that lasts and cannot write its row is canceled, and its caller gets a 503", async () => {
    const world = await newWorld();
    const { runner, polling } = await waitingRunner(world);
    await withoutRows(async () => {
      const creating = world.client.json("POST", "/v1/predictions", bodyOf(world), WAIT);
      const channel = await runner.connect(await polling);
      expect(await channel.next()).toMatchObject({ type: "fenced" });
      expect((await creating).status).toBe(503);
    });
  });

  test("a run that lasts sends its row with its first alarm if the Worker died before it wrote one", async () => {
    const world = await newWorld();
    const { objects } = await objectsOf(() =>
      withoutTimers(async () => {
        void createWith(world).catch(() => {});
        await eventually(async () => expect((await statusOf(world)).waiting).toBe(1));
      }),
    );
    expect(await countRows(world.user_id)).toBe(0);
    advance(30);
    await Promise.all(objects.map((object) => runDurableObjectAlarm(object)));
    await eventually(async () => expect(await countRows(world.user_id)).toBe(1));
  });
});

test("a held back run whose account was suspended is canceled by the sweep", async () => {
  const world = await newWorld();
  const creating = createWith(world);
  const { job, channel } = await (await world.runner()).work();
  await operator.ok("PUT", `/v1/operator/users/${world.username}/suspension`);
  await eventually(async () => expect(await rowOf(job.prediction_id)).not.toBeNull());
  await sweep();
  expect(await channel.next()).toEqual({ type: "cancel", reason: "its account is suspended" });
  await channel.report([], { status: "canceled", output: "none" });
  await creating.catch(() => {});
});

/** Other clients can look for such a run, or R2 has something of it. */
describe("a run whose row is written at once", () => {
  const others: [string, object, Record<string, string>][] = [
    ["a run without a wait has its row at once", {}, {}],
    ["a run with a stream has its row at once", { stream: true }, WAIT],
    [
      "a run with a webhook has its row at once",
      { webhook: { url: "https://hooks.example.com/x" } },
      WAIT,
    ],
    [
      "a run with a large input has its row at once",
      { input: { text: "x".repeat(1_100_000) } },
      WAIT,
    ],
    ["a run with an Idempotency-Key has its row at once", {}, { ...WAIT, "idempotency-key": "k" }],
  ];
  test.each(others)("%s", async (_, body, headers) => {
    const world = await newWorld();
    await withoutTimers(async () => {
      const creating = world.client.post("/v1/predictions", { ...bodyOf(world), ...body }, headers);
      await eventually(async () => expect(await countRows(world.user_id)).toBe(1));
      await cancelAll(world);
      await (await creating).text();
    });
  });

  test("a run that has written to R2 has its row when it answers", async () => {
    const world = await newWorld();
    const { runner, polling } = await waitingRunner(world);
    const { body } = await withoutTimers(async () => {
      const creating = createWith(world);
      const job = await polling;
      await storeFile(runner, job, "file");
      await reportTo(runner, job);
      return creating;
    });
    expect(await rowOf(body.id)).not.toBeNull();
  });

  test("a run with an endpoint of the account has its row at once", async () => {
    const world = await newWorld();
    await newEndpoint(world.client);
    await withoutTimers(async () => {
      const creating = createWith(world);
      await eventually(async () => expect(await countRows(world.user_id)).toBe(1));
      await cancelAll(world);
      await creating;
    });
  });
});
