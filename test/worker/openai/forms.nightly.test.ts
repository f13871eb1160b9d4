/** A form whose file spans several parts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import type { Client } from "../support/client.ts";
import { bytesOf, keysBelow, MIB } from "../support/files.ts";
import { formOf, PATH, pictureOf } from "../support/forms.ts";
import { finish, newOpenAi } from "../support/openai.ts";
import type { FakeRunner } from "../support/runner.ts";

const ANSWER = { data: [{ url: "https://images.invalid/1.png" }] };

let client: Client;
let model: string;

let fleet: FakeRunner;
let before: string[];

beforeEach(async () => {
  ({ client, model, fleet } = await newOpenAi());
  before = await keysBelow();
});

afterEach(() => {
  vi.restoreAllMocks();
});

const post = (body: BodyInit, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  client.fetch(PATH, { method: "POST", body, headers, ...(signal && { signal }) });

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
  test("a form's file can span several parts, and a repeat with its key is the same request", async () => {
    const long = bytesOf(6 * MIB);
    const form = () => formOf(["image", pictureOf(long)], ["model", model], ["prompt", "x"]);
    const key = { "idempotency-key": "k" };
    const { job, id } = await taken(form(), key);
    const [file] = job.files;
    expect(file?.stored).toMatchObject({ size: long.length, mime_type: "image/png" });
    const again = await post(form(), key);
    expect(again.headers.get("auspex-prediction-id")).toBe(id);
    await again.text();
    expect(await keysBelow()).toEqual([...before, `${id}/form-1-a-b.png`].sort());
    const other = formOf(
      ["image", pictureOf(bytesOf(6 * MIB, 3))],
      ["model", model],
      ["prompt", "x"],
    );
    expect((await post(other, key)).status).toBe(409);
  });
});
