/** Rows in the index of an account: written late, twice or out of order, and repaired. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { v7 as uuid } from "uuid";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { PredictionUpdate } from "../../../src/domain/predictions/prediction-row.ts";
import { REVISIONS } from "../../../src/domain/predictions/prediction-row.ts";
import { fileKey } from "../../../src/storage/files/files.ts";
import { eventually } from "../support/eventually.ts";
import {
  accountOf,
  countRows,
  inAccount,
  keepUp,
  objectOf,
  refuseRows,
  rowOf,
  tablesOf,
} from "../support/objects.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** A prediction whose account refuses its rows, and the rows that it would write. */
async function unheard() {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  const object = await objectOf(id);
  const refusing = refuseRows();
  const message = async (): Promise<PredictionUpdate> =>
    (await object.getRow()) ?? expect.fail("it has no row");
  const tell = async (...updates: PredictionUpdate[]) => {
    refusing.mockRestore();
    const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
    const results: boolean[] = [];
    for (const update of updates) results.push((await account.put(update)) !== false);
    return results;
  };
  return { world, id, channel, object, message, tell, refusing };
}

const usageOf = ({ user_id }: World) =>
  inAccount<{ predictions: number; failed: number }>(
    user_id,
    "SELECT predictions, failed FROM usage",
  );

test("a row that arrives twice or late changes nothing: the later revision stands", async () => {
  const { world, id, channel, message, tell } = await unheard();
  const started = await message();
  await channel.report([{ event: "metrics", data: { output_tokens: 3 } }], {
    status: "failed",
    output: "none",
    setup_seconds: 1.25,
    error: { source: "external", message: "boom", detail: { why: "x" } },
  });
  const failed = await message();
  expect(failed.revision).toBeGreaterThan(started.revision);
  await tell(failed);
  const row = await rowOf(id);
  expect(row).toMatchObject({ status: "failed", setup_time: 1.25, revision: failed.revision });
  expect(JSON.parse(row?.error ?? "")).toEqual({
    source: "external",
    message: "boom",
    detail: { why: "x" },
  });
  expect(JSON.parse(row?.metrics ?? "")).toEqual({ output_tokens: 3 });
  expect(await tell(started, failed, started)).toEqual([true, true, true]);
  expect(await rowOf(id)).toEqual(row);
  expect(await usageOf(world)).toEqual([{ predictions: 1, failed: 1 }]);
});

test("a removal counts at the same revision, and is not undone", async () => {
  const { id, channel, message, tell } = await unheard();
  await channel.succeed("a");
  const ended = await message();
  await tell(ended);
  expect(await rowOf(id)).toMatchObject({ data_removed: 0, due_at: ended.due_at });
  await tell({ ...ended, data_removed: true, due_at: null });
  expect(await rowOf(id)).toMatchObject({ data_removed: 1, due_at: null, status: "succeeded" });
  await tell(ended);
  expect(await rowOf(id)).toMatchObject({ data_removed: 1, due_at: null });
});

test("a row that the account refused is written again by the object", async () => {
  const { id, channel, refusing } = await unheard();
  await channel.succeed("a");
  expect(await rowOf(id)).toMatchObject({ status: "pending" });
  refusing.mockRestore();
  await eventually(async () => {
    await passes(11, id);
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  });
});

test("a prediction whose first object died before it began counts once, by its second object", async () => {
  const { world, id, channel, message, tell } = await unheard();
  await channel.succeed("a");
  const ended = await message();
  const first = { ...ended, object_id: env.PREDICTION.newUniqueId().toString(), execution_time: 7 };
  const second = { ...ended, revision: ended.revision + REVISIONS };
  await tell(first, second, { ...first, status: "pending", revision: 1 });
  expect(await rowOf(id)).toMatchObject({ object_id: ended.object_id, status: "succeeded" });
  expect(await usageOf(world)).toEqual([{ predictions: 1, failed: 0 }]);
});

test("a closed account takes no row", async () => {
  const { world, id, channel, message, tell } = await unheard();
  await channel.succeed("a");
  const ended = await message();
  const account = await accountOf(world.user_id);
  await account?.close(world.user_id);
  expect(await tell({ ...ended, id: uuid() })).toEqual([false]);
  expect(await countRows(world.user_id)).toBe(0);
  expect(await rowOf(id)).toBeNull();
  expect(await tell(ended)).toEqual([false]);
  expect(await account?.isEmpty()).toBe(true);
});

describe("the alarm of an account", () => {
  test("an alarm asks a prediction whose end never arrived", async () => {
    const { world, id, channel, refusing } = await unheard();
    await channel.succeed("a");
    refusing.mockRestore();
    advance(301);
    await keepUp(world.user_id);
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
    expect(await usageOf(world)).toEqual([{ predictions: 1, failed: 0 }]);
  });

  test("an alarm leaves a prediction under way as it is, and asks again later", async () => {
    const { world, id, channel, refusing } = await unheard();
    refusing.mockRestore();
    advance(301);
    await keepUp(world.user_id);
    expect(await rowOf(id)).toMatchObject({
      status: expect.stringMatching(/started|pending/),
      due_at: Date.now() + 300_000,
    });
    await channel.succeed("a");
    advance(301);
    await keepUp(world.user_id);
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  });

  test("an alarm ends the row of a prediction that never began, whose object promises that it never will", async () => {
    const { world, id, message, tell } = await unheard();
    const ghost = env.PREDICTION.newUniqueId();
    const orphan = { ...(await message()), id: uuid(), object_id: ghost.toString() };
    await env.FILES.put(fileKey(orphan.id, "input"), "left behind");
    await tell(orphan);
    advance(301);
    await keepUp(world.user_id);
    expect(await rowOf(orphan.id)).toMatchObject({ status: "failed", due_at: null });
    expect(await tablesOf(env.PREDICTION.get(ghost))).toEqual(["never"]);
    expect(await env.FILES.head(fileKey(orphan.id, "input"))).toBeNull();
    expect(await rowOf(id)).toMatchObject({ status: "started" });
  });

  test("an alarm asks an object that does not answer again, and the others do not wait for it", async () => {
    const { world, id, channel, message, tell } = await unheard();
    await channel.succeed("a");
    const ended = await message();
    const nobody = { ...ended, id: uuid(), object_id: "no object", status: "pending" as const };
    await tell({ ...nobody, due_at: ended.updated_at });
    advance(301);
    await keepUp(world.user_id);
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
    const account = await accountOf(world.user_id);
    const at =
      account && (await runInDurableObject(account, (_, { storage }) => storage.getAlarm()));
    expect(at).toBeGreaterThan(Date.now());
  });
});
