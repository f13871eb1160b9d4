/** The largest answers of remote hosts. */
import { expect, test } from "vitest";
import { jsonOf } from "../support/remote.ts";
import { IMAGES, newMediaWorld } from "../support/remote-media.ts";

test("an answer with images that is larger than 16 MiB fails the prediction, and says so", async () => {
  const data = [{ b64_json: "A".repeat(17 * 1024 ** 2) }];
  const { client, model } = await newMediaWorld(IMAGES, jsonOf({ created: 1, data }));
  const answer = await client.post(`/v1/vendora${IMAGES}`, { model, prompt: "Hills" });
  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({
    error: { message: expect.stringContaining("larger than 16777216 bytes") },
  });
});
