/** Images by the official client and the AI SDK: of a Cog model by its schema, and of a server natively. */
import { createOpenAI } from "@ai-sdk/openai";
import { generateImage } from "ai";
import type OpenAI from "openai";
import { toFile } from "openai";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { openAiOf, predictionIn, type Setup } from "./support/openai.ts";
import { World } from "./support/world.ts";

const BRUSH = `${USERNAME}/image`;
const EASEL = `${USERNAME}/easel`;
const HILLS = { model: BRUSH, prompt: "Hills at dusk", size: "64x48" as const };

let world: World;
let setup: Setup;
let openai: OpenAI;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  setup = openAiOf(world.access);
  openai = setup.openai;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

/** Waits for the end of the last call's prediction. */
const ended = () => endOf(world, world.watch(predictionIn(setup.wire.last)), "succeeded");

const bytesOf = (base64: string | undefined) => Buffer.from(base64 ?? "", "base64");
const read = async (url: string | undefined) =>
  Buffer.from(await (await fetch(url ?? "")).arrayBuffer());

const SIDES = { width: 64, height: 48 };
const RED = [255, 0, 0, 255];

/** Makes a picture of one color on the left, and another on the right. */
function halves(left: number[], right: number[]): Promise<Buffer> {
  const pixels = Uint8Array.from({ length: SIDES.width * SIDES.height * 4 }, (_, at) => {
    const color = Math.floor(at / 4) % SIDES.width < SIDES.width / 2 ? left : right;
    return color[at % 4] ?? 0;
  });
  return sharp(pixels, { raw: { ...SIDES, channels: 4 } })
    .png()
    .toBuffer();
}

const red = await halves(RED, RED);
/** The mask that leaves only the right half to be edited. */
const mask = await halves([0, 0, 0, 255], [0, 0, 0, 0]);

async function colorAt(png: Uint8Array, left: number): Promise<number[]> {
  const area = { left, top: 24, width: 1, height: 1 };
  return [...(await sharp(png).ensureAlpha().extract(area).raw().toBuffer())];
}

describe("a Cog model", () => {
  it("a Cog model draws, and each picture is a file and its base64", async () => {
    const { data = [], ...rest } = await openai.images.generate({ ...HILLS, n: 2 });
    expect(rest).toMatchObject({ output_format: "png" });
    const [first, second] = data;
    expect(data).toHaveLength(2);
    expect(await read(first?.url)).toEqual(bytesOf(first?.b64_json));
    expect(bytesOf(first?.b64_json)).not.toEqual(bytesOf(second?.b64_json));
    expect(await sharp(bytesOf(first?.b64_json)).metadata()).toMatchObject(SIDES);
    const { input, output } = await ended();
    expect(input).toEqual({ prompt: "Hills at dusk", width: 64, height: 48, num_outputs: 2 });
    expect(output).toEqual(data.map(({ url }) => url));
  });

  it("a Cog model's picture comes in the format that was asked for", async () => {
    const [base64] =
      (await openai.images.generate({ ...HILLS, response_format: "b64_json" })).data ?? [];
    const [address] =
      (await openai.images.generate({ ...HILLS, response_format: "url" })).data ?? [];
    expect(base64).toEqual({ b64_json: expect.any(String) });
    expect(address).toEqual({ url: expect.stringContaining("/v1/files/") });
    expect(await read(address?.url)).toEqual(bytesOf(base64?.b64_json));
  });

  it("a field that the Cog model's schema does not have is refused", async () => {
    const asked = openai.images.generate({ ...HILLS, quality: "high", style: "vivid" });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      code: "unsupported_parameter",
      param: "quality",
    });
  });

  it("a Cog model edits the files of a form", async () => {
    const { data = [] } = await openai.images.edit({
      image: await toFile(red, "red.png", { type: "image/png" }),
      mask: await toFile(mask, "mask.png"),
      model: BRUSH,
      prompt: "A lake",
      response_format: "b64_json",
    });
    const picture = bytesOf(data[0]?.b64_json);
    expect(await colorAt(picture, 5)).toEqual(RED);
    expect(await colorAt(picture, 60)).not.toEqual(RED);
  });

  it("a Cog model edits the images of a JSON body", async () => {
    const image_url = `data:image/png;base64,${red.toString("base64")}`;
    const body = { model: BRUSH, prompt: "A lake", images: [{ image_url }], mask: { image_url } };
    const { data } = await openai.post<OpenAI.ImagesResponse>("/images/edits", { body });
    expect(await sharp(bytesOf(data?.[0]?.b64_json)).metadata()).toMatchObject(SIDES);
  });

  it("a stream has an event for each picture as it is done", async () => {
    const types: string[] = [];
    for await (const event of await openai.images.generate({ ...HILLS, n: 2, stream: true })) {
      types.push(event.type);
      expect(await sharp(bytesOf(event.b64_json)).metadata()).toMatchObject(SIDES);
    }
    expect(types).toEqual(["image_generation.completed", "image_generation.completed"]);
  });
});

describe("a server", () => {
  const asked = z.object({ data: z.array(z.object({ revised_prompt: z.string() })) });
  /** Returns the request that the server got, which it returns as `revised_prompt`. */
  const told = (answer: OpenAI.ImagesResponse) =>
    JSON.parse(asked.parse(answer).data[0]?.revised_prompt ?? "");

  it("the server gets the request as it was sent, and its base64 becomes a file", async () => {
    const answer = await openai.images.generate({ model: EASEL, prompt: "A dot", quality: "low" });
    expect(told(answer)).toEqual({
      model: "easel-7b",
      prompt: "A dot",
      quality: "low",
      response_format: "b64_json",
    });
    const [one] = answer.data ?? [];
    expect(await read(one?.url)).toEqual(bytesOf(one?.b64_json));
    expect(answer).toMatchObject({ quality: "low", usage: { input_tokens: 7, output_tokens: 11 } });
    const { output, metrics } = await ended();
    expect(JSON.stringify(output)).not.toContain("iVBORw0KGgo");
    expect(metrics).toMatchObject({ input_tokens: 7, output_tokens: 11 });
  });

  it("the server gets a form with the files of an edit", async () => {
    const image = [
      await toFile(red, "red.png", { type: "image/png" }),
      await toFile(mask, "m.bin"),
    ];
    const answer = await openai.images.edit({ model: EASEL, prompt: "A dot", image, n: 2 });
    expect(told(answer)).toMatchObject({
      model: "easel-7b",
      prompt: "A dot",
      n: "2",
      "image[]": [
        { type: "image/png", size: red.length },
        { type: "image/png", size: mask.length },
      ],
    });
    expect(answer.data).toHaveLength(2);
  });

  it("the server also makes pictures for an ordinary prediction", async () => {
    const image = `data:image/png;base64,${red.toString("base64")}`;
    for (const [input, seen] of [
      [{ prompt: "A dot" }, { prompt: "A dot" }],
      [{ prompt: "A dot", image }, { image: { type: "image/png", size: red.length } }],
    ] as const) {
      const { output } = await endOf(world, await world.create("easel", input), "succeeded");
      expect(JSON.parse(asked.parse(output).data[0]?.revised_prompt ?? "")).toMatchObject(seen);
    }
  });

  it("the server streams pictures that are not done yet", async () => {
    const body = { model: EASEL, prompt: "A dot", stream: true, partial_images: 2 } as const;
    const events: unknown[] = [];
    for await (const event of await openai.images.generate(body)) events.push(event);
    const partial = { type: "image_generation.partial_image", quality: "low" };
    expect(events).toMatchObject([
      { ...partial, partial_image_index: 0 },
      { ...partial, partial_image_index: 1 },
      { type: "image_generation.completed", usage: { total_tokens: 18 } },
    ]);
    const image = await toFile(red, "red.png", { type: "image/png" });
    const edits: string[] = [];
    for await (const { type } of await openai.images.edit({ ...body, image })) edits.push(type);
    expect(edits.at(-1)).toBe("image_edit.completed");
  });

  it("the server's refusal is passed on in its own words", async () => {
    await expect(openai.images.generate({ model: EASEL, prompt: "fail" })).rejects.toMatchObject({
      status: 400,
      code: "policy",
      param: "prompt",
    });
  });
});

it("the AI SDK makes and edits images", async () => {
  const { url, token } = world.access;
  const baseURL = `${url}/v1/vendora`;
  const provider = createOpenAI({ apiKey: token, baseURL, fetch: setup.wire.fetch });
  const made = await generateImage({ model: provider.image(BRUSH), prompt: "Snow", size: "64x48" });
  expect(await sharp(made.image.uint8Array).metadata()).toMatchObject(SIDES);
  const edited = await generateImage({
    model: provider.image(BRUSH),
    prompt: { text: "A lake", images: [red], mask },
  });
  expect(await colorAt(edited.image.uint8Array, 5)).toEqual(RED);
});
