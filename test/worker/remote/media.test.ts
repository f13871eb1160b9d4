/** Calls of remote versions with images and sound: forms that the host gets, and files of its answers. */
import { expect, test } from "vitest";
import { wavOf } from "../../support/wav.ts";
import { jsonOf } from "../support/remote.ts";
import { IMAGES, newMediaWorld } from "../support/remote-media.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const formOf = (fields: Record<string, string | File>) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return { method: "POST", body: form };
};

test("speech of a remote host is passed on as it comes", async () => {
  const sound = { status: 200, headers: { "content-type": "audio/mpeg" }, body: "ID3 a song" };
  const { client, model, requests } = await newMediaWorld("/audio/speech", sound);
  const body = { model, input: "Hi", voice: "alloy" };
  const answer = await client.post("/v1/vendora/audio/speech", body);
  expect(answer.headers.get("content-type")).toBe("audio/mpeg");
  expect(await answer.text()).toBe("ID3 a song");
  const [request] = await requests(1);
  expect(JSON.parse(request?.body ?? "")).toEqual({ ...body, model: "gpt-far" });
});

test("a transcription is sent as a form with its file, and counts the seconds of the sound", async () => {
  const path = "/audio/transcriptions";
  const { client, model, requests, last } = await newMediaWorld(path, jsonOf({ text: "Hello" }));
  const file = new File([wavOf(2)], "hello.wav", { type: "audio/wav" });
  const form = formOf({ model, file, language: "en" });
  const answer = await client.fetch(`/v1/vendora${path}`, form);
  expect(await answer.json()).toMatchObject({ text: "Hello" });
  const [request] = await requests(1);
  const { headers, body = "" } = request ?? {};
  expect(headers?.["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  expect(headers?.["content-length"]).toMatch(/^\d+$/);
  expect(body).toMatch(/name="model"\r\n\r\ngpt-far\r\n/);
  expect(body).toMatch(/name="language"\r\n\r\nen\r\n/);
  expect(body).toMatch(
    /name="file"; filename="hello.wav"\r\nContent-Type: audio\/wav\r\n\r\nRIFF[\s\S]*\r\n--auspex-.*--\r\n$/,
  );
  expect(await last()).toMatchObject({ status: "succeeded", metrics: { audio_seconds: 2 } });
});

test("a form is sent again as a whole when the host refuses it for a while", async () => {
  const path = "/audio/transcriptions";
  const busy = jsonOf({}, 429, { "retry-after": "0" });
  const { client, model, requests } = await newMediaWorld(path, busy, jsonOf({ text: "Hello" }));
  const file = new File(["sound"], "a.mp3", { type: "audio/mpeg" });
  const answer = await client.fetch(`/v1/vendora${path}`, formOf({ model, file }));
  expect(answer.status).toBe(200);
  for (const { body } of await requests(2)) expect(body).toMatch(/\r\n\r\nsound\r\n/);
});

test("images of a remote host become files of the prediction, and are counted", async () => {
  const { client, model, requests, last } = await newMediaWorld(
    IMAGES,
    jsonOf({ created: 1, data: [{ b64_json: PNG, revised_prompt: "Green hills" }] }),
  );
  const answer = await client.ok<{ data: { b64_json: string; url: string }[] }>(
    "POST",
    `/v1/vendora${IMAGES}`,
    { model, prompt: "Hills" },
  );
  expect(answer.data).toMatchObject([{ b64_json: PNG, revised_prompt: "Green hills" }]);
  const file = await client.fetch(answer.data[0]?.url ?? "");
  expect(file.headers.get("content-type")).toBe("image/png");
  expect(Buffer.from(await file.arrayBuffer()).toString("base64")).toBe(PNG);
  const prediction = await last();
  expect(prediction.metrics).toMatchObject({ images: 1 });
  expect(JSON.stringify(prediction)).not.toContain(PNG);
  expect(JSON.parse((await requests(1))[0]?.body ?? "")).toMatchObject({
    ...{ model: "gpt-far", prompt: "Hills", response_format: "b64_json" },
  });
});

test("a model that refuses 'response_format' is asked for images without it", async () => {
  const error = { message: "Unknown parameter: 'response_format'.", param: "response_format" };
  const { client, model, requests } = await newMediaWorld(
    IMAGES,
    jsonOf({ error }, 400),
    jsonOf({ created: 1, data: [{ b64_json: PNG }] }),
  );
  const request = { model, prompt: "Hills", quality: "low" };
  expect(await client.ok("POST", `/v1/vendora${IMAGES}`, request)).toMatchObject({
    data: [{ b64_json: PNG }],
  });
  expect(JSON.parse((await requests(2))[1]?.body ?? "")).toEqual({ ...request, model: "gpt-far" });
});

test("an edit is sent as a form with its images", async () => {
  const path = "/images/edits";
  const made = jsonOf({ created: 1, data: [{ b64_json: PNG }] });
  const { client, model, requests } = await newMediaWorld(path, made);
  const image = new File(["a picture"], "hills.png", { type: "image/png" });
  const answer = await client.fetch(
    `/v1/vendora${path}`,
    formOf({ model, prompt: "More trees", image }),
  );
  expect(await answer.json()).toMatchObject({ data: [{ b64_json: PNG }] });
  expect((await requests(1))[0]?.body).toMatch(
    /name="image"; filename="hills.png"\r\nContent-Type: image\/png\r\n\r\na picture\r\n/,
  );
});

test("a stream of an image stores each picture, and counts the last", async () => {
  const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
  const stream = {
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: [
      event({ type: "image_generation.partial_image", b64_json: PNG, partial_image_index: 0 }),
      event({ type: "image_generation.completed", b64_json: PNG }),
    ].join(""),
  };
  const { client, model, last } = await newMediaWorld(IMAGES, stream);
  const body = { model, prompt: "Hills", stream: true, partial_images: 1 };
  const answer = await client.post(`/v1/vendora${IMAGES}`, body);
  const text = await answer.text();
  expect(text.match(/^event: .*$/gm)).toEqual([
    "event: image_generation.partial_image",
    "event: image_generation.completed",
  ]);
  expect(text.split(PNG)).toHaveLength(3);
  expect(await last()).toMatchObject({ metrics: { images: 1 } });
});
