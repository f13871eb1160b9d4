/** A prediction with as many readers as it may have. */
import { afterEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { newWorld } from "../support/world.ts";

const streams: Response[] = [];
afterEach(async () => {
  await Promise.all(streams.splice(0).map((response) => response.body?.cancel()));
});

async function expectRefusal(response: Response, words: RegExp) {
  expect(response.headers.get("retry-after")).toBe("15");
  expect(await response.json()).toMatchObject({
    status: 429,
    detail: expect.stringMatching(words),
  });
}

test("a prediction has a hundred readers, and one more when one has gone", async () => {
  const { client, waiting } = await newWorld();
  const [id, other] = [await waiting(), await waiting()];
  const open = async (of: string) => {
    const response = await client.fetch(`/v1/predictions/${of}/stream`);
    if (response.ok) streams.push(response);
    return response;
  };
  for (let n = 0; n < 100; n++) expect((await open(id)).status).toBe(200);
  await expectRefusal(await open(id), /This prediction has too many open streams/);
  expect((await open(other)).status).toBe(200);
  // A reader that cancels its stream frees its place.
  await streams.shift()?.body?.cancel();
  await eventually(async () => expect((await open(id)).status).toBe(200));
});
