// The example models as real processes: the answers that a runner, or a user by hand, gets from them.

import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { listModels } from "../../../runner/src/engines/process/model-folder.ts";
import { EXAMPLES, exampleNames, SHARED } from "../../../src/dev/examples.ts";
import { TEST_MODELS } from "../../support/models.ts";
import {
  type Answer,
  type Example,
  examplesFolder,
  health,
  type Receiver,
  type State,
  startExample,
  startReceiver,
  until,
  webhookToken,
} from "../support/example.ts";

const names = ["hello", "text-generation", "sums"];
let hello: Example;
let story: Example;
let sums: Example;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  [hello, story, sums] = (await Promise.all(
    names.map((name) => startExample(join(examplesFolder, name))),
  )) as [Example, Example, Example];
});

afterEach(() => {
  receiver.behave = () => ({ status: 200, afterMs: 0 });
});

afterAll(async () => {
  await Promise.all([hello, story, sums].map((example) => example.stop()));
  await receiver.stop();
});

/** Starts a prediction like a runner does. */
async function put(example: Example, input: object, id: string = randomUUID()) {
  const body = { id, input, webhook: receiver.url };
  const path = `/predictions/${id}`;
  const answer = await example.send<State>("PUT", path, body, "respond-async");
  return { id, ...answer };
}

function predict(example: Example, input: unknown): Promise<Answer<State>> {
  return example.send("POST", "/predictions", { input });
}

function cancel(example: Example, id: string): Promise<Answer<object>> {
  return example.send("POST", `/predictions/${id}/cancel`);
}

async function tell(input: object): Promise<string> {
  const { body } = await predict(story, { prompt: "Alice", seed: 7, delay_ms: 0, ...input });
  return (body.output as string[]).join("");
}

describe("the folders", () => {
  it("the folders are complete: shared files are in each that needs them, and no other files are in them", async () => {
    const models = await listModels(examplesFolder);
    const all = [
      ...["chat", "duotone", "embeddings", "hello", "image", "scribe-cog", "speech-to-text"],
      ...["sums", "text-generation", "text-to-speech"],
    ];
    expect(models.map(({ manifest }) => manifest.name)).toEqual(all);
    const cog = [
      "image",
      "text-to-speech",
      "duotone",
      "hello",
      "speech-to-text",
      "scribe-cog",
      "text-generation",
      "sums",
    ];
    const scribes = ["chat", "scribe-cog"];
    const copies: Record<string, string[]> = {
      "cog.mjs": cog,
      "openai.mjs": ["embeddings", "chat"],
      "voice.mjs": ["text-to-speech", "speech-to-text"],
      "wav.mjs": ["text-to-speech", "speech-to-text"],
      Dockerfile: all,
    };
    for (const file of ["ngrams.mjs", "passages.mjs", "writer.mjs"]) copies[file] = scribes;
    for (const file of ["sampling.mjs", "stop.mjs", "text.txt"])
      copies[file] = [...scribes, "text-generation"];
    for (const [file, folders] of Object.entries(copies)) {
      const shared = await readFile(join(SHARED, file), "utf8");
      for (const folder of folders)
        expect(await readFile(join(examplesFolder, folder, file), "utf8")).toBe(shared);
    }
    for (const name of all) {
      const root = (await exampleNames()).includes(name) ? EXAMPLES : TEST_MODELS;
      const own = (await readdir(join(root, name))).filter((file) => file !== "shared.json");
      const added = Object.keys(copies).filter((file) => copies[file]?.includes(name));
      const files = await readdir(join(examplesFolder, name));
      expect(files.sort()).toEqual([...own, ...added].sort());
    }
  });

  it("the models serve the schemas of their manifests", async () => {
    for (const [index, example] of [hello, story, sums].entries()) {
      const path = join(examplesFolder, names[index] ?? "", "auspex.json");
      const { name, schemas } = JSON.parse(await readFile(path, "utf8"));
      expect(name).toBe(names[index]);
      const { body } = await example.get<{ components: object }>("/openapi.json");
      const { input: Input, output: Output } = schemas.prediction;
      expect(body.components).toEqual({ schemas: { Input, Output } });
    }
  });
});

describe("hello", () => {
  it("hello is ready and lists its paths", async () => {
    const { body } = await hello.get<Record<string, string>>("/");
    expect(body.predictions_cancel_url).toBe("/predictions/{prediction_id}/cancel");
    expect(await hello.get("/health-check")).toMatchObject({
      status: 200,
      body: { status: "READY", setup: { status: "succeeded", logs: "" } },
    });
  });

  it("hello answers at once, with defaults filled in", async () => {
    expect(await predict(hello, {})).toMatchObject({
      status: 200,
      body: { status: "succeeded", output: "Hello, world!", logs: "" },
    });
    expect((await predict(hello, null)).body.output).toBe("Hello, world!");
  });

  it("hello answers by one authorized webhook", async () => {
    const { id, status, body } = await put(hello, { name: "Ada", unknown: 1 });
    expect({ status, body }).toEqual({ status: 202, body: { id, status: "starting" } });
    const end = await receiver.end(id);
    expect(end).toEqual({
      id,
      status: "succeeded",
      output: "Hello, Ada!",
      logs: "",
      metrics: { predict_time: expect.any(Number) },
    });
    expect(receiver.of(id)).toHaveLength(1);
    expect([...receiver.authorizations]).toEqual([`Bearer ${webhookToken}`]);
  });

  it("hello sends its end again when the receiver is in trouble", async () => {
    let tries = 0;
    receiver.behave = () => ({ status: ++tries < 2 ? 503 : 200, afterMs: 0 });
    const { id } = await put(hello, {});
    await until(() => receiver.of(id).length === 2);
  });

  it("hello refuses invalid requests", async () => {
    expect(await predict(hello, { name: 5 })).toEqual({
      status: 422,
      body: {
        detail: [
          {
            loc: ["body", "input", "name"],
            msg: 'does not match type "string"',
            type: "value_error",
          },
        ],
      },
    });
    const body = { id: "other", input: {} };
    expect((await hello.send("PUT", "/predictions/one", body)).status).toBe(422);
    expect((await predict(hello, [])).status).toBe(422);
    expect((await hello.send("POST", "/predictions", "{")).status).toBe(400);
    expect((await hello.send("POST", "/predictions", "[]")).status).toBe(400);
    expect((await hello.get("/predictions/one")).status).toBe(404);
    expect((await cancel(hello, "nobody")).status).toBe(404);
  });

  it("hello refuses a body over 100 MiB before it is sent", async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { "content-length": 100 * 1024 * 1024 + 1 };
      const call = request(`${hello.url}/predictions`, { method: "POST", headers });
      call.on("response", (response) => {
        resolve(response.statusCode);
        call.destroy();
      });
      call.on("error", reject);
      call.flushHeaders();
    });
    expect(status).toBe(413);
  });
});

describe("text-generation", () => {
  it("text-generation streams: each webhook has more of the same text", async () => {
    const { id } = await put(story, { prompt: "Alice was", max_tokens: 12, delay_ms: 5 });
    const end = await receiver.end(id);
    const texts = receiver.of(id).map((state) => ((state.output ?? []) as string[]).join(""));
    expect(texts.length).toBeGreaterThan(4);
    for (const [index, text] of texts.entries()) {
      expect(text.startsWith(texts[index - 1] ?? "")).toBe(true);
    }
    expect(end.output).toHaveLength(12);
    expect(end.metrics).toMatchObject({ input_tokens: 2, output_tokens: 12 });
    expect(end.logs).toMatch(/^seed \d+\n$/);
  });

  it("text-generation waits for a slow receiver, and then sends the text of the meantime", async () => {
    receiver.behave = () => ({ status: 200, afterMs: 40 });
    const before = receiver.busiest();
    const { id } = await put(story, { max_tokens: 40, delay_ms: 5 });
    const end = await receiver.end(id);
    expect(end.output).toHaveLength(40);
    expect(receiver.of(id).length).toBeLessThan(20);
    // The end does not wait for the webhook that is under way.
    expect(receiver.busiest()).toBeLessThanOrEqual(Math.max(before, 2));
  });

  it("text-generation tells the same story for the same seed", async () => {
    const one = await tell({});
    expect(one.length).toBeGreaterThan(200);
    expect(await tell({})).toBe(one);
    expect(await tell({ seed: 8 })).not.toBe(one);
    expect(await tell({ temperature: 0, seed: 1 })).toBe(await tell({ temperature: 0, seed: 2 }));
    expect(await tell({ prompt: "" })).not.toBe("");
    expect(await tell({ prompt: "Qwerty uiop" })).not.toBe("");
  });

  it("text-generation ends before the stop text, also where tokens share it", async () => {
    const whole = await tell({});
    const stop = whole.slice(101, 109);
    expect(await tell({ stop })).toBe(whole.slice(0, whole.indexOf(stop)));
    expect(await tell({ stop: "never in Alice" })).toBe(whole);
  });

  it("text-generation is started once, however often it is put while in flight", async () => {
    const input = { seed: 1, max_tokens: 100, delay_ms: 20 };
    const { id } = await put(story, input);
    const again = await put(story, { seed: 2 }, id);
    expect(again).toMatchObject({ status: 202, body: { status: "processing", input } });
    await cancel(story, id);
    expect((await receiver.end(id)).logs).toBe("seed 1\n");
  });

  it("text-generation is cancelled in the middle", async () => {
    const { id } = await put(story, { max_tokens: 2000, delay_ms: 1000 });
    await until(() => receiver.of(id).length > 0);
    expect((await cancel(story, id)).status).toBe(200);
    const end = await receiver.end(id);
    expect(end.status).toBe("canceled");
    expect(end.error).toBeUndefined();
    expect((await cancel(story, id)).status).toBe(404);
  });

  it("text-generation is cancelled when its caller disconnects", async () => {
    const input = { max_tokens: 2000, delay_ms: 1000 };
    const leaving = AbortSignal.timeout(30);
    const body = JSON.stringify({ id: "left", input });
    const options = { method: "POST", body, signal: leaving };
    await expect(fetch(`${story.url}/predictions`, options)).rejects.toThrow();
    await until(async () => (await cancel(story, "left")).status === 404);
  });
});

describe("sums", () => {
  it("sums adds the numbers up", async () => {
    const numbers = [4, 1, 10, 3];
    for (const [operation, result] of Object.entries({ sum: 18, mean: 4.5, median: 3.5 })) {
      const { body } = await predict(sums, { numbers, operation });
      expect(body.output).toEqual({ operation, count: 4, result });
      expect(body.logs).toBe(`${operation} of 4 numbers\nthe result is ${result}\n`);
    }
  });

  it("sums reports everything that is wrong with an input", async () => {
    const input = { numbers: [1, "2"], operation: "product", seconds: -1 };
    const { status, body } = await predict(sums, input);
    expect(status).toBe(422);
    const { detail } = body as unknown as { detail: { loc: unknown[] }[] };
    expect(detail.map(({ loc }) => loc.slice(2))).toEqual([
      ["numbers", 1],
      ["operation"],
      ["seconds"],
    ]);
    expect(await predict(sums, {})).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "input", "numbers"], msg: "Field required" }] },
    });
  });

  it("sums fails on request, and lives on", async () => {
    const { id } = await put(sums, { numbers: [1], mode: "fail" });
    const end = await receiver.end(id);
    expect(end).toMatchObject({ status: "failed", error: "Told to fail" });
    expect(end.logs).toMatch(/^sum of 1 numbers\nError: Told to fail\n/);
    expect(await health(sums)).toBe("READY");
  });

  it("sums logs while it runs, takes one run at a time, and stops when cancelled", async () => {
    const slow = { numbers: [1], mode: "slow", seconds: 60 };
    const { id } = await put(sums, slow);
    await until(() => receiver.of(id).some(({ logs }) => logs.endsWith("60 s to go\n")));
    expect(await health(sums)).toBe("BUSY");
    expect((await put(sums, slow)).status).toBe(409);
    await cancel(sums, id);
    expect(await receiver.end(id)).toMatchObject({ status: "canceled" });
    expect(await health(sums)).toBe("READY");
  });

  it("sums ignores a cancel on request", async () => {
    const input = { numbers: [1], mode: "slow", seconds: 0.3, ignore_cancel: true };
    const { id } = await put(sums, input);
    await cancel(sums, id);
    expect(await health(sums)).toBe("BUSY");
    const end = await receiver.end(id);
    expect(end.status).toBe("canceled");
    expect(end.metrics.predict_time).toBeGreaterThan(0.29);
  });
});

describe("a process", () => {
  const sumsFolder = join(examplesFolder, "sums");

  it("a process ends with an error on a crash", async () => {
    const example = await startExample(sumsFolder);
    await put(example, { numbers: [1], mode: "crash" });
    expect(await example.exited).toBe(1);
  });

  it("a process ends on SIGTERM and on a shutdown call, also in the middle of a run", async () => {
    const slow = { numbers: [1], mode: "slow", seconds: 60 };
    const [one, two] = await Promise.all([startExample(sumsFolder), startExample(sumsFolder)]);
    await Promise.all([put(one, slow), put(two, slow)]);
    one.kill("SIGTERM");
    expect((await two.send("POST", "/shutdown")).status).toBe(200);
    expect(await Promise.all([one.exited, two.exited])).toEqual([0, 0]);
  });

  it("a process shows the logs of a setup that failed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "auspex-example-"));
    await cp(join(examplesFolder, "hello"), folder, { recursive: true });
    await writeFile(
      join(folder, "model.mjs"),
      `import manifest from "./auspex.json" with { type: "json" };
       import { serve } from "./cog.mjs";
       function setup() { console.log("reading %s", "weights"); throw new Error("No weights"); }
       serve(manifest, { setup, predict() {} });`,
    );
    const example = await startExample(folder);
    const { body } = await example.get<{ status: string; setup: { logs: string } }>(
      "/health-check",
    );
    expect(body.status).toBe("SETUP_FAILED");
    expect(body.setup.logs).toMatch(/^reading weights\nError: No weights\n/);
    expect((await predict(example, {})).status).toBe(503);
    await example.stop();
    await rm(folder, { recursive: true });
  });
});
