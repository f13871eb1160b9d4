/** Forms as the bodies of calls: their files go to R2 while they arrive, and become URLs in the input. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { OpenAiError } from "../../../src/protocol/openai/error.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { bytesOf, digestOf, isUnderWay, keysBelow, MIB, readFile } from "../support/files.ts";
import { type Fields, formOf, PATH, pictureOf } from "../support/forms.ts";
import { finish, newOpenAi } from "../support/openai.ts";
import type { FakeRunner } from "../support/runner.ts";
import { newClient } from "../support/world.ts";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3);
const ANSWER = { data: [{ url: "https://images.invalid/1.png" }] };

let client: Client;
let model: string;
let username: string;
let fleet: FakeRunner;
let before: string[];

beforeEach(async () => {
  ({ client, model, username, fleet } = await newOpenAi());
  before = await keysBelow();
});

afterEach(() => {
  vi.restoreAllMocks();
});

const post = (body: BodyInit, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  client.fetch(PATH, { method: "POST", body, headers, ...(signal && { signal }) });

async function wholeOf(form: FormData) {
  const response = new Response(form);
  const type = response.headers.get("content-type") ?? "";
  return { bytes: await response.bytes(), type };
}

/** Returns the error of a refused form, and checks that R2 has nothing of it. */
async function refusal(body: BodyInit, headers = {}) {
  const response = await post(body, headers);
  const { error } = await response.json<{ error: OpenAiError }>();
  expect(await keysBelow()).toEqual(before);
  return { status: response.status, ...error };
}

/** Returns the job of an accepted form. Calls `working` with it while it runs. */
async function taken(body: FormData, headers = {}, working?: (job: Job) => Promise<void>) {
  const calling = post(body, headers);
  const { job, channel } = await fleet.work();
  await working?.(job);
  await finish(channel, [ANSWER]);
  const response = await calling;
  expect(response.status).toBe(200);
  await response.text();
  return { job, id: job.prediction_id };
}

describe("a form", () => {
  test("a form becomes the JSON of its call, with its files as URLs of the prediction's files", async () => {
    const form = formOf(
      ["image[]", pictureOf(PNG)],
      ["image[]", pictureOf(PNG, "raw.bin", "")],
      ["model", model],
      ["prompt", "7"],
      ["n", "2"],
      ["stream", "false"],
    );
    const { job, id } = await taken(form, {}, async (job) => {
      const stored = await readFile(fleet, job, `${job.prediction_id}/form-1-a-b.png`);
      expect(await digestOf(stored)).toBe(await digestOf(PNG));
    });
    const url = expect.stringContaining(`/v1/files/${id}/form-`);
    expect(job.input).toMatchObject({ prompt: "7", n: 2, stream: false, image: [url, url] });
    const [first, second] = job.files.toSorted((a, b) => Number(a.at[1]) - Number(b.at[1]));
    const size = PNG.length;
    expect(first).toEqual({
      at: ["image", 0],
      stored: { key: `${id}/form-1-a-b.png`, name: "ä b.png", mime_type: "image/png", size },
    });
    // A file without a type gets the type that its bytes show.
    expect(second?.stored).toMatchObject({ name: "raw.bin", mime_type: "image/png" });
    await client.ok("DELETE", `/v1/predictions/${id}`);
    await expect.poll(() => keysBelow(id)).toEqual([]);
  });

  test("a form is read once, also when its token is not cached", async () => {
    const fresh = await newClient(username);
    const body = formOf(["image", pictureOf(PNG)], ["model", model]);
    const response = await fresh.fetch(PATH, { method: "POST", body });
    expect(await response.json()).toMatchObject({ error: { param: "prompt" } });
  });
});

test("a file may have any name", async () => {
  const name = `${"👍".repeat(120)}a.png`;
  const form = formOf(["image", pictureOf(PNG, name)], ["model", model], ["prompt", "x"]);
  const { job } = await taken(form);
  expect(job.files[0]?.stored?.name).toMatch(/^👍+a\.png$/u);
});

describe("a refused form", () => {
  const long = () => pictureOf(bytesOf(6 * MIB));

  test("a form whose sender leaves before its end leaves no upload in R2", async () => {
    const begin = vi.spyOn(env.FILES, "createMultipartUpload");
    const leaving = new AbortController();
    const chunks = await wholeOf(formOf(["model", model], ["image", long()]));
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(chunks.bytes.slice(0, -100)),
    });
    const sending = post(body, { "content-type": chunks.type }, leaving.signal);
    const upload = await eventually(() => begin.mock.results[0]?.value ?? expect.fail("not begun"));
    expect(await isUnderWay(upload.key, upload.uploadId)).toBe(true);
    leaving.abort();
    await expect(sending).rejects.toThrow();
    await expect.poll(() => isUnderWay(upload.key, upload.uploadId)).toBe(false);
  });

  test("a form for an unknown model is a 404, wherever it names the model, and leaves no files", async () => {
    const unknown: Fields[number] = ["model", "nobody/nothing"];
    for (const form of [
      formOf(unknown, ["image", long()], ["prompt", "x"]),
      formOf(["image", long()], ["prompt", "x"], unknown),
    ])
      expect(await refusal(form)).toMatchObject({ status: 404, code: "model_not_found" });
  });

  test("a form with an invalid token is a 401, and leaves no files", async () => {
    const form = formOf(["image", long()], ["model", model]);
    const response = await new Client("aus_nobody").fetch(PATH, { method: "POST", body: form });
    expect(response.status).toBe(401);
    await response.text();
    expect(await keysBelow()).toEqual(before);
  });

  test("a form with wrong fields is refused, and leaves no files", async () => {
    const form = formOf(["image", long()], ["model", model], ["prompt", "x"], ["n", "many"]);
    expect(await refusal(form)).toMatchObject({ status: 422, param: "n" });
    const without = formOf(["model", model], ["prompt", "x"]);
    expect(await refusal(without)).toMatchObject({ status: 400, param: "image" });
  });

  test("a body that is no form, and a form that is too large, are refused", async () => {
    const type = { "content-type": "multipart/form-data; boundary=x" };
    expect(await refusal("--x\r\nno head", type)).toMatchObject({ status: 400 });
    expect(await refusal("--x--", type)).toMatchObject({ status: 422 });
    const fields = Array.from({ length: 300 }, (_, n): Fields[number] => [`f${n}`, "1"]);
    expect(await refusal(formOf(...fields))).toMatchObject({ status: 413 });
    const text = formOf(["model", model], ["prompt", "x".repeat(2 * MIB)]);
    expect(await refusal(text)).toMatchObject({ status: 413 });
  });

  test("a form whose model lacks the call is a 400, and leaves no files", async () => {
    const chats = await newOpenAi({ compatibilities: { vendora_chat_completions: true } });
    const form = formOf(["image", long()], ["model", chats.model], ["prompt", "x"]);
    const response = await chats.client.fetch(PATH, { method: "POST", body: form });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "unsupported_model" } });
    expect(await keysBelow()).toEqual(before);
  });
});
