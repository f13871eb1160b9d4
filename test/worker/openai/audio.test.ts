/** Speech and transcriptions: how the service answers with what runners report. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { postFile } from "../support/files.ts";
import {
  answer,
  failed,
  finish,
  newOpenAi,
  predictionOf,
  put,
  refused,
} from "../support/openai.ts";
import { newWorld } from "../support/world.ts";

const SPEECH = "/v1/vendora/audio/speech";
const TRANSCRIPTIONS = "/v1/vendora/audio/transcriptions";

const server = await newOpenAi();
const voice = { type: "string", enum: ["low", "high"] };
const speaker = await newOpenAi({
  input: { type: "object", properties: { text: { type: "string" }, voice } },
  configuration: { interface: "cog" },
});
const hearer = await newOpenAi({
  input: { type: "object", properties: { audio: { type: "string", format: "uri" } } },
  configuration: { interface: "cog" },
});

const speak = (more: object = {}, { client, model }: typeof server = server) =>
  client.post(SPEECH, { model, input: "Go on", voice: "low", ...more });

const delta = (sound: string, content_type?: string): Json => ({
  type: "speech.audio.delta",
  audio: btoa(sound),
  ...(content_type && { content_type }),
});

describe("a server that speaks", () => {
  test("a server gets the caller's request, and its sound arrives before it has finished", async () => {
    const [response, { job, channel }] = await Promise.all([
      speak({ seed: 5 }),
      server.fleet.work().then(async (work) => {
        await put(work.channel, delta("RIFF", "audio/wav"));
        return work;
      }),
    ]);
    expect(job).toMatchObject({ call: "audio_speech", input: { input: "Go on", seed: 5 } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("audio/wav");
    expect(predictionOf(response)).toBe(job.prediction_id);
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("RIFF");
    await finish(channel, [delta("end")]);
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("end");
    expect(await reader?.read()).toEqual({ done: true, value: undefined });
  });

  test("speech never has a content type that a browser runs", async () => {
    const [response] = await Promise.all([speak(), answer(server.fleet, delta("a", "text/html"))]);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    await response.text();
  });

  test.each(["audio/wav; a=\r\nx: y", "audio/wav; a=€"])(
    "speech of the invalid type %j is sent as application/octet-stream",
    async (type) => {
      const [response] = await Promise.all([speak(), answer(server.fleet, delta("a", type))]);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/octet-stream");
      expect(await response.text()).toBe("a");
    },
  );

  test("speech as events ends with an event that has the usage", async () => {
    const [response] = await Promise.all([
      speak({ stream_format: "sse" }),
      answer(server.fleet, delta("ab", "audio/mpeg"), delta("c")),
    ]);
    const text = await response.text();
    expect([...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))).toEqual([
      { type: "speech.audio.delta", audio: btoa("ab") },
      { type: "speech.audio.delta", audio: btoa("c") },
      {
        type: "speech.audio.done",
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5, cost: 0 },
      },
    ]);
  });

  test.each([
    ["refuses", refused(400, { message: "no", type: "x", param: "voice", code: null }), 400],
    ["fails", failed("external", "it broke"), 502],
    ["says nothing", { status: "succeeded", output: "none" } as const, 502],
  ])(
    "a server that %s before the first sound is answered with an error status",
    async (_, end, status) => {
      const [response] = await Promise.all([
        speak(),
        server.fleet.work().then(({ channel }) => channel.report([], end)),
      ]);
      expect(response.status).toBe(status);
      expect(await response.json()).toHaveProperty("error.message");
    },
  );

  test("speech in another format than the caller asked for is a 400", async () => {
    const [response] = await Promise.all([
      speak({ response_format: "mp3" }),
      answer(server.fleet, delta("a", "audio/wav")),
    ]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "response_format" } });
  });
});

describe("a Cog model that speaks", () => {
  test("a Cog model speaks in a plain prediction, whose file is the answer", async () => {
    const { fleet } = speaker;
    const [response, job] = await Promise.all([
      speak({}, speaker),
      fleet.work().then(async ({ job, channel }) => {
        const stored = await postFile(fleet, job, "a picture of a sound");
        const { url } = await stored.json<{ url: string }>();
        await finish(channel, [url]);
        return job;
      }),
    ]);
    expect(job).toMatchObject({ call: null, input: { text: "Go on", voice: "low" } });
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(await response.text()).toBe("a picture of a sound");
  });

  test("a Cog model cannot answer with a file of another prediction", async () => {
    const { client, model, fleet } = speaker;
    const other = await newWorld();
    const { id } = await other.begun();
    const [response] = await Promise.all([
      client.post(SPEECH, { model, input: "Go on" }),
      answer(fleet, `https://auspex.test/v1/files/${id}/x-out.png`),
    ]);
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { code: "model_error" } },
    ]);
  });

  test("a voice that a Cog model's schema does not have is refused", async () => {
    const response = await speak({ voice: "alloy" }, speaker);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: "voice", code: "invalid_value" } },
    ]);
  });
});

describe("a transcription", () => {
  const form = (model: string, fields: Record<string, string> = {}) => {
    const data = new FormData();
    data.append("file", new File(["sound"], "a.wav", { type: "audio/wav" }));
    for (const [name, value] of Object.entries({ model, ...fields })) data.append(name, value);
    return { method: "POST", body: data };
  };
  const SAID = { text: "Go on", segments: [{ start: 0, end: 1, text: "Go on" }] };

  test("a transcription's form becomes the input of a Cog model, with the file", async () => {
    const { client, model, fleet } = hearer;
    const [response, job] = await Promise.all([
      client.fetch(TRANSCRIPTIONS, form(model, { response_format: "srt" })),
      answer(fleet, SAID),
    ]);
    expect(job).toMatchObject({
      call: null,
      input: { audio: expect.stringMatching(/form-1-a\.wav/) },
    });
    expect(job.files).toMatchObject([
      { at: ["audio"], stored: { mime_type: "audio/wav", size: 5 } },
    ]);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await response.text()).toBe("1\n00:00:00,000 --> 00:00:01,000\nGo on\n\n");
  });

  test("a transcription's form becomes the body of a server's call", async () => {
    const { client, model, fleet } = server;
    const [response, job] = await Promise.all([
      client.fetch(TRANSCRIPTIONS, form(model, { temperature: "0.5" })),
      answer(fleet, { text: "Go on", mine: 1 }),
    ]);
    expect(job).toMatchObject({ call: "audio_transcriptions", input: { model, temperature: 0.5 } });
    expect(await response.json()).toEqual({ text: "Go on", mine: 1 });
  });

  test("a streamed transcription sends a delta per output, then the whole text", async () => {
    const { client, model, fleet } = hearer;
    const [response] = await Promise.all([
      client.fetch(TRANSCRIPTIONS, form(model, { stream: "true" })),
      answer(fleet, "Go", " on"),
    ]);
    const text = await response.text();
    expect([...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))).toEqual([
      { type: "transcript.text.delta", delta: "Go" },
      { type: "transcript.text.delta", delta: " on" },
      {
        type: "transcript.text.done",
        text: "Go on",
        usage: { type: "tokens", input_tokens: 3, output_tokens: 2, total_tokens: 5, cost: 0 },
      },
    ]);
  });

  test.each([
    ["with times in a stream", { stream: "true", response_format: "vtt" }, 400, "response_format"],
    ["in a language that the schema does not have", { language: "fr" }, 400, "language"],
    ["in an unknown format", { response_format: "xml" }, 422, "response_format"],
  ])("a transcription %s is refused", async (_, fields, status, param) => {
    const { client, model } = hearer;
    const response = await client.fetch(TRANSCRIPTIONS, form(model, fields));
    expect([response.status, await response.json()]).toMatchObject([status, { error: { param } }]);
  });

  test("a transcription with times is refused when its model returns none", async () => {
    const { client, model, fleet } = hearer;
    const [response] = await Promise.all([
      client.fetch(TRANSCRIPTIONS, form(model, { response_format: "vtt" })),
      answer(fleet, "Go on"),
    ]);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: "response_format", message: expect.stringContaining("without times") } },
    ]);
  });

  test("a transcription needs a file", async () => {
    const { client, model } = hearer;
    const response = await client.post(TRANSCRIPTIONS, { model });
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { error: { param: "file" } },
    ]);
  });
});
