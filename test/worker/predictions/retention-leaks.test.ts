/** Leaks: every key and part of R2, every row and every object is accounted for in the end. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  beginRunnerUpload,
  beginUpload,
  bytesOf,
  isUnderWay,
  keysBelow,
  MIB,
  PART,
  sendPart,
  storeFile,
  storeInParts,
  storeValue,
  uploaded,
} from "../support/files.ts";
import { objectOf, rowOf, tablesOf } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const HOUR = 3_600;
const DAY = 86_400;

test("nothing leaks: every key, part, row and object is gone in the end", async () => {
  // Resetting the database between test files may miss rows that were just being read.
  const before = await keysBelow();
  const multiparts: R2MultipartUpload[] = [];
  const create = env.FILES.createMultipartUpload.bind(env.FILES);
  vi.spyOn(env.FILES, "createMultipartUpload").mockImplementation(async (...args) => {
    const multipart = await create(...args);
    multiparts.push(multipart);
    return multipart;
  });
  const ids: string[] = [];
  const world = await newWorld();
  const { client, model } = world;

  for (let n = 0; n < 6; n++) {
    const upload = await uploaded(client, `upload ${n}`);
    const input = {
      file: `/v1/uploads/${upload.id}`,
      text: "i".repeat(n % 2 === 0 ? 10 : 2 * MIB),
    };
    const options = n === 3 ? { retention_seconds: 60 } : {};
    const { body } = await client.create(
      { model, input, ...options },
      n === 4 ? { "idempotency-key": "k" } : {},
    );
    ids.push(body.id);
    const runner = await world.runner();
    const { job, channel } = await runner.work();
    const urls = [
      await storeFile(runner, job, "whole"),
      await storeFile(runner, job, "whole"),
      await storeInParts(runner, job, bytesOf(n === 0 ? PART + 1 : 10)),
    ];
    const abandoned = await beginRunnerUpload(runner, job, 20);
    if (n % 2 === 0) await sendPart(abandoned.urls[0], bytesOf(20));
    // No frame names this value.
    await storeValue(runner, job, "unused");
    await channel.report([await storeValue(runner, job, "v".repeat(300_000))]);
    if (n === 1) {
      await client.cancel(body.id);
      await channel.next();
    }
    if (n === 5) await passes(31, body.id);
    else await channel.succeed(...urls);
  }
  const small = await world.begun();
  await small.channel.succeed("nothing in R2");
  ids.push(small.id);
  await beginUpload(client, 5);
  const arrived = await beginUpload(client, PART + 5);
  await sendPart(arrived.urls[1], bytesOf(5));
  const deleted = await uploaded(client, "deleted");
  await client.ok("DELETE", `/v1/uploads/${deleted.id}`);
  const given = await beginUpload(client, 5);
  await sendPart(given.urls[0], bytesOf(5));
  await client.ok("DELETE", `/v1/uploads/${given.id}`);

  expect((await keysBelow()).length).toBeGreaterThan(30);
  expect(multiparts).toHaveLength(6 + 6 + 6 + 4);
  await client.ok("DELETE", `/v1/predictions/${ids[2]}`);
  advance(31 * DAY);
  for (const id of ids) await runDurableObjectAlarm(await objectOf(id));
  advance(HOUR);
  for (const id of ids) await runDurableObjectAlarm(await objectOf(id));
  await sweep();

  expect(await keysBelow()).toEqual(before);
  for (const { key, uploadId } of multiparts) expect(await isUnderWay(key, uploadId)).toBe(false);
  for (const table of ["uploads", "upload_parts"]) {
    const count = env.DB.prepare(`SELECT count(*) AS n FROM ${table}`);
    expect([table, await count.first("n")]).toEqual([table, 0]);
  }
  for (const id of ids) {
    expect(await tablesOf(await objectOf(id))).toEqual([]);
    expect(await client.get(id)).toMatchObject({ input: null, output: null, data_removed: true });
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ data_removed: 1 }));
  }
});
