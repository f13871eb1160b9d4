/** Runs of a model whose owner's account is far away. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { eventually } from "../support/eventually.ts";
import { countedOf, knownWorld, watchAccounts } from "../support/far-accounts.ts";
import { captureLog } from "../support/log.ts";
import { keepUp } from "../support/objects.ts";
import { bodyOf, reportTo, WAIT, waitingRunner } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  captureLog("warn");
});

afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

test("a run of another account's model calls nothing of that account, and still raises its count", async () => {
  const owner = await knownWorld({ visibility: "public" });
  const counted = (predictions_count: number) =>
    eventually(async () => {
      const model = await owner.client.ok<Model>("GET", `/v1/models/${owner.model}`);
      expect(model).toMatchObject({ predictions_count });
      return model;
    }, 6_000);
  const model = await counted(1);
  const told = vi.spyOn(env.COUNTS, "sendBatch");
  const { client, user_id } = await newUser();
  const accounts = watchAccounts();
  await accounts.moveAway(owner.user_id);
  const { body } = await client.create(bodyOf(owner));
  const first = await owner.runner();
  const { channel } = await first.work();
  await channel.succeed("a");
  await first.tellState();
  expect(await client.status(body.id)).toBe("succeeded");
  const { runner, polling } = await waitingRunner(owner);
  const creating = client.create(bodyOf(owner), WAIT);
  await reportTo(runner, await polling);
  expect((await creating).body.status).toBe("succeeded");
  await eventually(async () => expect(await countedOf(user_id)).toBe(2));
  await counted(2);
  advance(601);
  await keepUp(user_id);
  await counted(3);
  const messages = told.mock.calls.flatMap(([batch]) => [...batch].map(({ body }) => body));
  const ofModel = messages.filter((one) => "model_id" in one && one.model_id === model.id);
  expect(ofModel).toEqual([1, 2].map((n) => ({ user_id, model_id: model.id, predictions: n })));
  expect(await accounts.callsOf(user_id)).not.toEqual([]);
  expect(await accounts.callsOf(owner.user_id)).toEqual([]);
});
