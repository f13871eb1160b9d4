/** Many reads of a large prediction that need none of it. */
import { afterEach, expect, test, vi } from "vitest";
import { large } from "../support/large-prediction.ts";

afterEach(() => void vi.restoreAllMocks());

test("a read with a matching ETag, or of a HEAD, takes no place of the fifty", async () => {
  const { client, path } = await large();
  const first = await client.fetch(path);
  await first.body?.cancel();
  const headers = { "if-none-match": first.headers.get("etag") ?? "" };
  for (let n = 0; n < 60; n++) {
    expect((await client.fetch(path, { headers })).status).toBe(304);
    expect((await client.fetch(path, { method: "HEAD" })).status).toBe(200);
  }
});
