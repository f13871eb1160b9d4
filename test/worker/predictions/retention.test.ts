/** Retention of data: how long it is kept, and that nothing is left afterwards in R2, D1 or an object. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Upload } from "../../../src/protocol/upload.ts";
import { sized } from "../../support/sized.ts";
import type { Refusal } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import {
  beginRunnerUpload,
  beginUpload,
  bytesOf,
  digestOf,
  keysBelow,
  MIB,
  nobody,
  PART,
  postFile,
  postUpload,
  postValue,
  sendParts,
  storeFile,
  storeValue,
  uploaded,
  uploadRow,
} from "../support/files.ts";
import { objectOf, rowOf, tablesOf } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const HOUR = 3_600;
const DAY = 86_400;

/** A prediction that has succeeded and has an object of each kind in R2. */
async function finished(world: World, options: object = {}) {
  const { client, model, runner } = world;
  const input = { text: "i".repeat(MIB + 1) };
  const { body } = await client.create({ model, input, ...options });
  const one = await runner();
  const { job, channel } = await one.work();
  const url = await storeFile(one, job, "file");
  await channel.report([await storeValue(one, job, "v".repeat(300_000))]);
  await channel.succeed(url);
  return { id: body.id, runner: one, job, url };
}

const remove = ({ client }: Pick<World, "client">, id: string) =>
  client.json<Refusal>("DELETE", `/v1/predictions/${id}`);

describe("retention_seconds", () => {
  test.each([
    [59, "greater_than_equal"],
    [0, "greater_than_equal"],
    [-1, "greater_than_equal"],
    [30 * DAY + 1, "less_than_equal"],
    [1.5, "int_from_float"],
    ["60", "int_type"],
    [null, "int_type"],
  ])("a retention_seconds of %s is refused", async (retention_seconds, type) => {
    const { client, model } = await newWorld();
    const request = { model, input: {}, retention_seconds };
    const { status, body } = await client.refused("/v1/predictions", request);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", "retention_seconds"], type }]);
  });

  test.each(sized([60], [60, 3_600, 30 * DAY]))(
    "data is kept for %i s, and no longer",
    async (seconds) => {
      const world = await newWorld();
      const { id, url } = await finished(world, { retention_seconds: seconds });
      expect(await keysBelow(id)).toHaveLength(3);
      await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
      await passes(seconds - 1, id);
      expect(await world.client.get(id)).toMatchObject({ data_removed: false });
      expect((await nobody.fetch(url)).status).toBe(200);
      await passes(2, id);
      expect(await world.client.get(id)).toMatchObject({
        status: "succeeded",
        input: null,
        output: null,
        data_removed: true,
      });
      expect(await keysBelow(id)).toEqual([]);
      await eventually(async () => expect(await rowOf(id)).toMatchObject({ data_removed: 1 }));
      // An object in R2 that was written late goes an hour after the data, and the object's storage with it.
      await env.FILES.put(`${id}/late`, "late");
      await passes(HOUR, id);
      expect(await keysBelow(id)).toEqual([]);
      expect(await tablesOf(await objectOf(id))).toEqual([]);
      expect(await world.client.get(id)).toMatchObject({ status: "succeeded", data_removed: true });
    },
  );

  test("retention counts from the end, not from the beginning", async () => {
    const { client, model, runner } = await newWorld();
    const { body } = await client.create({ model, input: {}, retention_seconds: 60 });
    const { channel } = await (await runner()).work();
    for (let times = 0; times < 5; times++) {
      await passes(25, body.id);
      await channel.output("a");
    }
    await channel.succeed();
    await passes(59, body.id);
    expect((await client.get(body.id)).data_removed).toBe(false);
  });
});

describe("removing a prediction's data", () => {
  test("a removal takes all data at once, and a second one does no harm", async () => {
    const world = await newWorld();
    const { id, url } = await finished(world);
    for (let times = 0; times < 2; times++) {
      expect(await remove(world, id)).toMatchObject({ status: 200, body: {} });
      expect(await keysBelow(id)).toEqual([]);
      expect(await rowOf(id)).toMatchObject({ status: "succeeded", data_removed: 1 });
      expect(await world.client.get(id)).toMatchObject({ output: null, data_removed: true });
    }
    expect((await world.client.stream(id)).status).toBe(404);
    expect((await nobody.fetch(url)).status).toBe(404);
    expect(await world.client.cancel(id)).toBe(409);
    await passes(HOUR, id);
    expect(await tablesOf(await objectOf(id))).toEqual([]);
    expect(await runDurableObjectAlarm(await objectOf(id))).toBe(false);
  });

  test("a removal is refused while the prediction waits or runs, and works once it is canceled", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const refused = await remove(world, id);
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("Cancel it first") },
    });
    const { channel } = await (await world.runner()).work();
    expect((await remove(world, id)).status).toBe(409);
    await channel.output("a");
    expect((await world.client.get(id)).output).toEqual(["a"]);
    await world.client.cancel(id);
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    expect((await remove(world, id)).status).toBe(409);
    await channel.report([], { status: "canceled", output: "items" });
    expect((await remove(world, id)).status).toBe(200);
  });

  test("a removal is refused to everybody but the owner", async () => {
    const world = await newWorld({ visibility: "public" });
    const { id } = await finished(world);
    const stranger = await world.stranger();
    const other = await remove({ client: stranger }, id);
    const none = await remove({ client: stranger }, crypto.randomUUID());
    expect([other.status, none.status]).toEqual([404, 404]);
    expect((await remove({ client: nobody }, id)).status).toBe(401);
    expect(await keysBelow(id)).toHaveLength(3);
  });

  test("a removal leaves the uploads that the prediction has read", async () => {
    const world = await newWorld();
    const done = await uploaded(world.client);
    const id = await world.waiting({ image: `/v1/uploads/${done.id}` });
    await (await (await world.runner()).work()).channel.succeed();
    await remove(world, id);
    expect((await world.client.ok<Upload>("GET", `/v1/uploads/${done.id}`)).status).toBe(
      "completed",
    );
    expect(await keysBelow(done.id)).toHaveLength(1);
  });

  test("a removal while R2 is down changes nothing, and can be asked for again", async () => {
    const world = await newWorld();
    const { id } = await finished(world);
    const gone = vi.spyOn(env.FILES, "delete").mockRejectedValue(new Error("R2 is down"));
    expect((await remove(world, id)).status).toBe(500);
    expect(await world.client.get(id)).toMatchObject({ data_removed: false });
    gone.mockRestore();
    expect((await remove(world, id)).status).toBe(200);
    expect(await keysBelow(id)).toEqual([]);
  });
});

test("a retention whose time comes while R2 is down removes the data as soon as R2 is up", async () => {
  const world = await newWorld();
  const { id } = await finished(world, { retention_seconds: 60 });
  const gone = vi.spyOn(env.FILES, "delete").mockRejectedValue(new Error("R2 is down"));
  for (let times = 0; times < 3; times++) await passes(61, id);
  expect(await rowOf(id)).toMatchObject({ data_removed: 0 });
  gone.mockRestore();
  await passes(61, id);
  expect(await keysBelow(id)).toEqual([]);
  expect(await world.client.get(id)).toMatchObject({ data_removed: true });
});

describe("a runner that is too late", () => {
  /** Ends the attempt during a write to R2, after the object has allowed it. */
  function endWhile(method: "put" | "resumeMultipartUpload", end: () => Promise<unknown>) {
    if (method === "put") {
      const put = env.FILES.put.bind(env.FILES);
      vi.spyOn(env.FILES, "put").mockImplementation(async (...args: Parameters<typeof put>) => {
        const object = await put(...args);
        await end();
        return object;
      });
      return;
    }
    const resume = env.FILES.resumeMultipartUpload.bind(env.FILES);
    vi.spyOn(env.FILES, "resumeMultipartUpload").mockImplementation((key, id) => {
      const multipart = resume(key, id);
      return {
        key,
        uploadId: id,
        abort: () => multipart.abort(),
        uploadPart: (...args: Parameters<typeof multipart.uploadPart>) =>
          multipart.uploadPart(...args),
        async complete(parts) {
          const object = await multipart.complete(parts);
          await end();
          return object;
        },
      };
    });
  }

  const ENDS: [string, (world: World, id: string) => Promise<unknown>][] = [
    ["its lease ended", (_, id) => passes(31, id)],
    [
      "the prediction was canceled, ended and was removed",
      async (world, id) => {
        await world.client.cancel(id);
        await passes(61, id);
        expect((await remove(world, id)).status).toBe(200);
      },
    ],
  ];
  describe.each(ENDS.slice(0, sized(1, ENDS.length)))("because %s", (_, end) => {
    test("a late runner leaves no file, no value and no file in parts", async () => {
      const world = await newWorld();
      for (const store of ["file", "value", "parts"] as const) {
        const { id, runner, job } = await world.begun();
        const parts = store === "parts" ? await beginRunnerUpload(runner, job, 3) : undefined;
        const etags = parts ? await sendParts(parts, bytesOf(3)) : [];
        endWhile(parts ? "resumeMultipartUpload" : "put", () => end(world, id));
        const answer = parts
          ? await postUpload(runner, job, `/${parts.id}/complete`, { etags })
          : await (store === "file" ? postFile : postValue)(runner, job, "123");
        vi.restoreAllMocks();
        expect([store, answer.status]).toEqual([store, 404]);
        expect(await keysBelow(id)).toEqual([]);
        await world.client.cancel(id);
      }
    });
  });
});

describe("a file in parts, from a runner", () => {
  test("a file in parts is one file once it is complete, also when its completion is repeated", async () => {
    const world = await newWorld();
    const { id, runner, job, channel } = await world.begun();
    const bytes = bytesOf(PART + 5);
    const begun = await beginRunnerUpload(runner, job, bytes.length);
    const early = await postUpload(runner, job, `/${begun.id}/complete`, { etags: ["x", "y"] });
    expect(early.status).toBe(409);
    const etags = await sendParts(begun, bytes);
    const complete = async () => {
      const response = await postUpload(runner, job, `/${begun.id}/complete`, { etags });
      return { status: response.status, ...(await response.json<{ url: string }>()) };
    };
    const first = await complete();
    expect(first.status).toBe(200);
    // The runner completes again, as if the first answer was lost on its way.
    expect(await complete()).toEqual(first);
    expect(await digestOf(await nobody.fetch(first.url))).toBe(await digestOf(bytes));
    await channel.succeed(first.url);
    expect(await keysBelow(id)).toHaveLength(1);
    advance(2 * DAY);
    await sweep();
    // The row counts toward FILES_GB for as long as the file is there.
    expect(await uploadRow(begun.id)).toMatchObject({ size: bytes.length });
    expect(await keysBelow(id)).toHaveLength(1);
    await remove(world, id);
    await eventually(async () => expect(await uploadRow(begun.id)).toBeNull());
    expect(await keysBelow(id)).toEqual([]);
  });

  test("a file in parts is neither the owner's upload nor another prediction's", async () => {
    const world = await newWorld();
    const { runner, job } = await world.begun();
    const begun = await beginRunnerUpload(runner, job, 3);
    const etags = await sendParts(begun, bytesOf(3));
    const path = `/v1/uploads/${begun.id}`;
    expect((await world.client.fetch(path)).status).toBe(404);
    expect((await world.client.fetch(path, { method: "DELETE" })).status).toBe(404);
    expect((await world.client.post(`${path}/complete`, { etags })).status).toBe(404);
    const input = { image: path };
    expect(
      (await world.client.refused("/v1/predictions", { model: world.model, input })).status,
    ).toBe(422);
    const other = await world.begun();
    const own = await beginUpload(world.client, 3);
    for (const id of [begun.id, own.id]) {
      const answer = await postUpload(other.runner, other.job, `/${id}/complete`, { etags });
      expect(answer.status).toBe(404);
    }
  });
});
