/** Inputs with the largest files from data URIs. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { PredictionWithIO } from "../../../src/protocol/prediction.ts";
import type { Client } from "../support/client.ts";
import { bytesOf, keysBelow } from "../support/files.ts";
import { newWorld } from "../support/world.ts";

const uriOf = (bytes: Uint8Array, type = "image/png") => `data:${type};base64,${bytes.toBase64()}`;

let client: Client;
let model: string;

beforeEach(async () => {
  ({ client, model } = await newWorld({ input: { type: "object" } }));
});

afterEach(() => vi.restoreAllMocks());

const create = async (input: { [name: string]: Json }, headers = {}) =>
  (await client.create({ model, input }, headers)).body;

const urlIn = ({ input }: PredictionWithIO) => String((input as { image: string }).image);

/** Returns the keys of data URIs in R2 that this test has written. */
const strays = async () => {
  const keys = await keysBelow();
  return keys.filter((one) => /\/(?:data|earlier)-/.test(one) && !before.includes(one));
};
let before: string[] = [];
beforeEach(async () => {
  before = await keysBelow();
});

describe("the address of a data URI's file in the input of another prediction", () => {
  test("inputs whose earlier files are together larger than a body are refused", async () => {
    const sent = await Promise.all([1, 2].map(() => create({ image: uriOf(bytesOf(5_300_000)) })));
    const [one, two] = sent.map(urlIn);
    const kept = await strays();
    const { status, body } = await client.refused("/v1/predictions", {
      model,
      input: { list: [one, two] },
    });
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { msg: expect.stringContaining("at most 10 MiB in total") },
    ]);
    expect(await strays()).toEqual(kept);
    expect((await create({ list: [one ?? "", one ?? ""] })).status).toBe("pending");
  });
});
