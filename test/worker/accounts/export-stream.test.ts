/** The stream of an export: its pace, failures and limits. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { ANSWER_MS } from "../../../src/objects/stubs/bounded.ts";
import worker from "../../../src/worker.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { addRows, EXPORT, exported, idsIn, linesIn, ofType } from "../support/export.ts";
import { storeValue } from "../support/files.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { inAccount } from "../support/objects.ts";
import { startClock } from "../support/time.ts";
import { newClient, newUser, newWorld } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

/** Opens an export of a deployment where an account may have a single stream. */
function open({ token }: Client, method = "GET") {
  const headers = { authorization: `Bearer ${token}` };
  const bindings = Object.assign({}, env, { MAX_STREAMS: "1" });
  const request = new Request(`${ORIGIN}${EXPORT}`, { method, headers });
  return worker.fetch(request, bindings, createExecutionContext());
}

/** Replaces the answer of a prediction object to exports. */
function instead(id: string, answer: () => ReturnType<PredictionObject["getUpTo"]>) {
  const { getUpTo } = PredictionObject.prototype;
  return vi.spyOn(PredictionObject.prototype, "getUpTo").mockImplementation(async function (
    this: PredictionObject,
    chars,
  ) {
    return (await this.getRow())?.id === id ? answer() : getUpTo.call(this, chars);
  });
}

describe("a large output", () => {
  test("a large output in R2 is exported whole, between others", async () => {
    const world = await newWorld();
    const { id, runner, job, channel } = await world.begun();
    const value = "z\n€".repeat(200_000);
    await channel.report([{ event: "output", data: "a" }, await storeValue(runner, job, value)]);
    await channel.succeed("b");
    const ids = [await world.waiting(), id];
    const text = await exported(world.client);
    expect(idsIn(text)).toEqual(ids);
    const [, { prediction } = {}] = ofType(linesIn(text), "prediction");
    expect(prediction?.output).toEqual(["a", value, "b"]);
  });

  test("a large output of many small values is read when its turn comes", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    await channel.report([{ event: "output", data: "x".repeat(100_000) }]);
    await channel.report([{ event: "output", data: "y".repeat(100_000) }]);
    await channel.succeed();
    const get = vi.spyOn(PredictionObject.prototype, "getUpTo");
    const { prediction } = ofType(linesIn(await exported(world.client)), "prediction")[0] ?? {};
    expect(await get.mock.results[0]?.value).toBe("larger");
    expect(prediction).toEqual(await world.client.get(id));
  });

  test("a large output whose value was deleted meanwhile has null in its place, and a count", async () => {
    const world = await newWorld();
    const { id, runner, job, channel } = await world.begun();
    const stored = await storeValue(runner, job, "gone");
    await channel.report([{ event: "output", data: "a" }, stored]);
    await channel.succeed("b");
    await env.FILES.delete(`${id}/values/${stored.data.name}`);
    expect(ofType(linesIn(await exported(world.client)), "prediction")).toMatchObject([
      { prediction: { id, output: ["a", null, "b"] }, missing: 1 },
    ]);
  });
});

describe("a prediction that cannot be read", () => {
  test("a prediction that is deleted meanwhile breaks off, and the others follow", async () => {
    const world = await newWorld();
    const { id, runner, job, channel } = await world.begun();
    const stored = await storeValue(runner, job, "gone");
    await channel.report([stored]);
    await channel.succeed();
    const first = await world.waiting();
    captureLog("warn");
    const { readable, writable } = new TransformStream();
    const get = vi.spyOn(env.FILES, "get");
    const found = await env.FILES.get(`${id}/values/${stored.data.name}`);
    get.mockResolvedValueOnce(Object.create(found, { body: { value: readable } }));
    void writable.abort(new Error("the object has been deleted"));
    const lines = (await exported(world.client)).trimEnd().split("\n");
    const whole = lines.flatMap((line) => (line.endsWith("}") ? [JSON.parse(line)] : []));
    expect(whole.length).toBe(lines.length - 1);
    expect(whole.slice(-3)).toMatchObject([
      { type: "prediction", prediction: { id: first } },
      { type: "failure", prediction: { id } },
      { type: "end", predictions: 2, failures: 1 },
    ]);
  });

  test("a prediction whose object fails is exported as a failure, and the others follow", async () => {
    const world = await newWorld();
    const ids = [await world.waiting(), await world.waiting()];
    captureLog("warn");
    instead(ids[1] ?? "", async () => {
      throw new Error("it is down");
    });
    const text = await exported(world.client);
    const lines = linesIn(text);
    expect(ofType(lines, "failure")).toMatchObject([
      { prediction: { id: ids[1], status: "pending" } },
    ]);
    expect(idsIn(text)).toEqual([ids[0]]);
    expect(lines.at(-1)).toMatchObject({ type: "end", predictions: 2, failures: 1 });
  });

  test("a prediction whose object hangs is given up, and the next ones are ready", async () => {
    const world = await newWorld();
    const ids = [];
    for (let n = 0; n < 8; n++) ids.unshift(await world.waiting());
    captureLog("warn");
    const late = holdTimers(ANSWER_MS);
    const asked = instead(ids[0] ?? "", () => new Promise(() => {}));
    const reading = exported(world.client);
    await eventually(async () => expect(asked).toHaveBeenCalledTimes(5));
    late();
    const text = await reading;
    expect(ofType(linesIn(text), "failure")).toMatchObject([{ prediction: { id: ids[0] } }]);
    expect(idsIn(text)).toEqual(ids.slice(1));
  });

  test("a prediction with too many large values is exported as a failure", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const value = { name: "n", size: 1 };
    instead(id, async () => ({
      id,
      call: null,
      created_at: 0,
      terminal: true,
      status: "succeeded" as const,
      stored: false,
      body: Array(5_001).fill(value),
    }));
    expect(ofType(linesIn(await exported(world.client)), "failure")).toMatchObject([
      { prediction: { id }, detail: expect.stringContaining("too many large values") },
    ]);
  });
});

test("predictions without data are exported without a call of their objects", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await addRows(world, 120);
  await inAccount(world.user_id, "UPDATE predictions SET data_removed = 1 WHERE id LIKE '%1'");
  // The account object removes their data itself, without a mark in their rows.
  await inAccount(world.user_id, "UPDATE predictions SET kept_seconds = 60 WHERE data_removed = 0");
  await inAccount(world.user_id, "UPDATE predictions SET kept_seconds = NULL WHERE id = ?", id);
  const asked = vi.spyOn(PredictionObject.prototype, "getUpTo");
  const found = ofType(linesIn(await exported(world.client)), "prediction");
  expect(found.map(({ prediction }) => prediction.data_removed)).toEqual([
    false,
    ...Array(120).fill(true),
  ]);
  expect(asked).toHaveBeenCalledOnce();
});

describe("a reader", () => {
  /** Reads the stream until a line of this type. */
  async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, type: string) {
    for (let text = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) expect.fail(`it ended before a ${type}: ${text.slice(-200)}`);
      text = new TextDecoder().decode(value);
      if (text.startsWith(`{"type":"${type}"`)) return;
    }
  }

  test("an export begins when it is read, and calls at most five objects ahead", async () => {
    const world = await newWorld();
    for (let n = 0; n < 9; n++) await world.waiting();
    const asked = vi.spyOn(PredictionObject.prototype, "getUpTo");
    const listed = vi.spyOn(AccountObject.prototype, "list");
    const response = await open(world.client);
    const reader = response.body?.getReader() ?? expect.fail("it has no body");
    expect(listed).not.toHaveBeenCalled();
    await readUntil(reader, "prediction");
    await eventually(async () => expect(asked).toHaveBeenCalledTimes(5));
    await reader.cancel();
    expect(asked).toHaveBeenCalledTimes(5);
    const again = await open(world.client);
    expect(again.status).toBe(200);
    expect(linesIn(await again.text()).at(-1)).toMatchObject({ type: "end", predictions: 9 });
  });

  test("an export counts as a stream of the account until its end, also if it fails", async () => {
    const { client, waiting } = await newWorld();
    await waiting();
    captureLog("error");
    const down = vi.spyOn(AccountObject.prototype, "list").mockRejectedValue(new Error("down"));
    const [failing, refused] = [await open(client), await open(client)];
    expect(refused.status).toBe(429);
    await expect(failing.text()).rejects.toThrow();
    down.mockRestore();
    const next = await open(client);
    expect(linesIn(await next.text()).at(-1)).toMatchObject({ type: "end" });
  });

  test("a HEAD request of an export does not count as a stream afterwards", async () => {
    const { client } = await newUser();
    for (let n = 0; n < 3; n++) expect((await open(client, "HEAD")).status).toBe(200);
    expect((await open(client)).status).toBe(200);
  });

  test("an account may have two exports at once", async () => {
    const { client } = await newUser();
    const two = [await client.fetch(EXPORT), await client.fetch(EXPORT)];
    const third = await client.fetch(EXPORT);
    expect([third.status, await third.text()]).toEqual([429, expect.stringContaining("2 exports")]);
    for (const one of two) await one.body?.cancel();
    await exported(client);
  });

  test("an export ends with a problem once its token is revoked", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    const world = await newWorld();
    for (let n = 0; n < 9; n++) await world.waiting();
    const client = await newClient(world.username);
    const asked = vi.spyOn(PredictionObject.prototype, "getUpTo");
    const reader = (await client.fetch(EXPORT)).body?.getReader() ?? expect.fail("no body");
    await readUntil(reader, "prediction");
    await env.DB.prepare("DELETE FROM tokens WHERE prefix = ?")
      .bind(tokenPrefix(client.token ?? ""))
      .run();
    await vi.advanceTimersByTimeAsync(9_000);
    let text = "";
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += new TextDecoder().decode(next.value);
    const last = text.trim().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject({ type: "problem", problem: { status: 401 } });
    expect(text).not.toContain('"type":"end"');
    expect(asked.mock.calls.length).toBeLessThan(9);
  });
});
