/** Bounds of what one attempt may store. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import { parseLease } from "../../../src/domain/predictions/lease.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import {
  beginRunnerUpload,
  keysBelow,
  postFile,
  postUpload,
  postValue,
  sendParts,
  storeInParts,
} from "../support/files.ts";
import type { FakeRunner } from "../support/runner.ts";
import { newWorld } from "../support/world.ts";

/** Begins `times` writes of the attempt without sending any bytes. */
async function store({ client }: FakeRunner, job: Job, times: number): Promise<void> {
  const { objectId } = parseLease(job.lease) ?? {};
  const stub = env.PREDICTION.get(env.PREDICTION.idFromString(objectId ?? ""));
  const token = env.DB.prepare("SELECT id FROM runner_tokens WHERE prefix = ?");
  const row = await token.bind(tokenPrefix(client.token ?? "")).first<{ id: string }>();
  const holder = { lease: job.lease, token_id: row?.id ?? "", token_known_at: Date.now() };
  await runInDurableObject(stub, async (object) => {
    for (let n = 0; n < times; n++)
      if (typeof (await object.beginWrite(holder)) !== "object") throw new Error(`refused at ${n}`);
  });
}

test("an attempt stores 20,000 files and values, and the next write is a 413", async () => {
  const world = await newWorld();
  const { id, job, runner } = await world.begun();
  await storeInParts(runner, job, new Uint8Array(10));
  expect((await postFile(runner, job, "a")).status).toBe(200);
  expect((await postValue(runner, job, "1")).status).toBe(200);
  await store(runner, job, 20_000 - 4);
  const last = await beginRunnerUpload(runner, job, 10);
  const kept = await keysBelow(id);
  // The count of writes survives a restart of the object.
  await abortAllDurableObjects();
  const refused = [
    await postFile(runner, job, "a"),
    await postValue(runner, job, "1"),
    await postUpload(runner, job, "", { size: 10, mime_type: "text/plain" }),
  ];
  for (const answer of refused) {
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({
      type: "urn:auspex:too_large",
      detail: expect.stringContaining("20000 files and values"),
    });
  }
  expect(await keysBelow(id)).toEqual(kept);
  // An upload that has begun may be completed.
  const etags = await sendParts(last, new Uint8Array(10));
  expect((await postUpload(runner, job, `/${last.id}/complete`, { etags })).status).toBe(200);
});
