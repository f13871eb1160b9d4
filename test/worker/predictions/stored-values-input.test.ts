/** Large inputs: they are in R2 before the prediction begins, or leave nothing there. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { sized } from "../../support/sized.ts";
import { keysBelow, MIB, readInput } from "../support/files.ts";
import { countRows, keepUp, refuseRows } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

afterEach(() => vi.restoreAllMocks());

/** The limit of waiting predictions is set in test/projects/worker.ts. */
const MAX_WAITING = 20;

describe("a large input", () => {
  const textOf = (bytes: number) => ({ text: "i".repeat(bytes - '{"text":""}'.length) });

  test.each([[MIB, true], [MIB + 1, false], ...sized<[number, boolean][]>([], [[9 * MIB, false]])])(
    "an input of %i bytes travels with the job: %s",
    async (bytes, inline) => {
      const { client, model, runner } = await newWorld();
      const input = textOf(bytes);
      const { body } = await client.create({ model, input });
      const one = await runner();
      const job = await one.take();
      expect(job.input !== undefined).toBe(inline);
      const read = await (await readInput(one, job)).json<{ input: typeof input }>();
      expect(read.input.text === input.text).toBe(true);
      expect(body.input).toEqual(input);
      expect(await keysBelow(body.id)).toHaveLength(inline ? 0 : 1);
    },
  );

  test("a large input is counted in bytes, not in characters", async () => {
    const { client, model } = await newWorld();
    const input = { text: "\u20ac".repeat(MIB / 3) };
    const { body } = await client.create({ model, input });
    expect(body.input).toEqual(input);
    expect(await keysBelow(body.id)).toHaveLength(1);
  });

  test("an input beyond the 10 MB of a request is a 413", async () => {
    const { client, model, user_id } = await newWorld();
    const answer = await client.refused("/v1/predictions", { model, input: textOf(10 * MIB) });
    expect(answer.status).toBe(413);
    expect(await countRows(user_id)).toBe(0);
  });

  const key = { "idempotency-key": "k" };
  const input = textOf(2 * MIB);

  /** Returns the keys in R2 that belong to none of the predictions `ids`. */
  const strays = async (...ids: string[]) =>
    (await keysBelow()).filter((one) => !ids.some((id) => one.startsWith(id)));

  /** Deletes all objects of R2 and returns a new world. */
  async function emptied(): Promise<World> {
    const keys = await keysBelow();
    if (keys.length > 0) await env.FILES.delete(keys);
    return newWorld();
  }

  test("a large input with an Idempotency-Key, sent twice at once, is one prediction", async () => {
    const { client, model, user_id } = await emptied();
    const create = () => client.create({ model, input }, key);
    const all = await Promise.all([create(), create(), create()]);
    const again = await create();
    const [id = "", ...others] = new Set([...all, again].map(({ body }) => body.id));
    expect(others).toEqual([]);
    expect(again.body.input).toEqual(input);
    expect(await countRows(user_id)).toBe(1);
    expect(await keysBelow(id)).toHaveLength(1);
    expect(await strays(id)).toEqual([]);
  });

  test("a large input with the key of another is refused, and leaves nothing", async () => {
    const { client, model, user_id } = await emptied();
    const { body } = await client.create({ model, input }, key);
    const other = textOf(3 * MIB);
    const refused = await Promise.all(
      [1, 2].map(() => client.refused("/v1/predictions", { model, input: other }, key)),
    );
    expect(refused.map(({ status }) => status)).toEqual([409, 409]);
    expect(await countRows(user_id)).toBe(1);
    expect(await strays(body.id)).toEqual([]);
  });

  test.each(sized([key], [{}, key]))(
    "an input without room in the line leaves nothing: %j",
    async (headers) => {
      const { client, model, user_id, waiting } = await emptied();
      for (let n = 0; n < MAX_WAITING; n++) await waiting();
      const { status } = await client.refused("/v1/predictions", { model, input }, headers);
      expect(status).toBe(429);
      expect(await countRows(user_id)).toBe(MAX_WAITING);
      expect(await strays()).toEqual([]);
    },
  );

  test.each(sized([key], [{}, key]))(
    "a large input while R2 is down is a 503: %j",
    async (headers) => {
      const { client, model, runner } = await emptied();
      const put = vi.spyOn(env.FILES, "put").mockRejectedValue(new Error("R2 is down"));
      const { status, body } = await client.refused("/v1/predictions", { model, input }, headers);
      expect([status, body.title]).toEqual([503, "Temporarily unavailable"]);
      put.mockRestore();
      const created = await client.create({ model, input }, headers);
      const [job, ...more] = await (await runner(2)).claim();
      expect([job?.prediction_id, more]).toEqual([created.body.id, []]);
      expect(await strays(created.body.id)).toEqual([]);
    },
  );

  test("a large input that could not be deleted is found by its account", async () => {
    const { client, model, user_id, waiting } = await emptied();
    for (let n = 0; n < MAX_WAITING; n++) await waiting();
    const list = vi.spyOn(env.FILES, "list").mockRejectedValue(new Error("R2 is down"));
    expect((await client.refused("/v1/predictions", { model, input })).status).toBe(429);
    list.mockRestore();
    expect(await countRows(user_id)).toBe(MAX_WAITING + 1);
    expect(await strays()).toHaveLength(1);
    stopClock();
    advance(360);
    await keepUp(user_id);
    startClock();
    expect(await strays()).toEqual([]);
    const { items } = await client.ok<{ items: object[] }>(
      "GET",
      "/v1/predictions?statuses=failed",
    );
    expect(items).toMatchObject([{ status: "failed", error: { source: "internal" } }]);
  });

  test.each([{}, key])(
    "a large input while its account is down is a 503, and leaves nothing: %j",
    async (headers) => {
      const { client, model } = await emptied();
      await client.cancel((await client.create({ model, input: {} })).body.id);
      refuseRows();
      const { status } = await client.refused("/v1/predictions", { model, input }, headers);
      expect(status).toBe(503);
      expect(await strays()).toEqual([]);
    },
  );
});
