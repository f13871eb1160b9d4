/** Pages of many referrers, as OCI's conformance suite reads them. */
import { expect, test } from "vitest";
import { MEDIA_TYPES } from "../../../../src/protocol/oci.ts";
import { DataSet, EXAMPLE_TYPES } from "../../support/conformance.ts";
import { digestOf, newRepository } from "../../support/registry.ts";

const repo = await newRepository();

async function pushBlobs(set: DataSet): Promise<void> {
  for (const [digest, bytes] of set.blobs)
    expect((await repo.finish(await repo.begin(), digest, bytes)).status).toBe(201);
}

test("referrers have pages, also with a filter by type", async () => {
  const set = new DataSet();
  const subject = { mediaType: MEDIA_TYPES.ociManifest, digest: digestOf("paged"), size: 5 };
  const layers = [await set.layer()];
  const types = Array.from({ length: 205 }, (_, n) => EXAMPLE_TYPES[n % 2] ?? "");
  for (const [n, type] of types.entries())
    await set.artifact(type, { subject, layers, annotations: { n: String(n) } });
  await pushBlobs(set);
  const putting = set.manifests.map(({ digest, text }) => repo.putManifest(digest, text));
  for (const { status } of await Promise.all(putting)) expect(status).toBe(201);
  const all = async (query: string) => {
    const found: string[][] = [];
    for (let path: string | undefined = `referrers/${subject.digest}${query}`; path; ) {
      const answer: Response = await repo.send("GET", path);
      const { manifests } = await answer.json<{ manifests: { digest: string }[] }>();
      found.push(manifests.map(({ digest }) => digest));
      path = /^<(.+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
    }
    return found;
  };
  const digests = set.manifests.map(({ digest }) => digest).toSorted();
  const pages = await all("");
  expect(pages.map((page) => page.length)).toEqual([100, 100, 5]);
  expect(pages.flat()).toEqual(digests);
  const filtered = await all(`?artifactType=${encodeURIComponent(types[0] ?? "")}`);
  // A filtered page has the matching items of a page of all.
  expect(filtered).toHaveLength(3);
  expect(filtered.flat()).toHaveLength(103);
  expect(digests).toEqual(expect.arrayContaining(filtered.flat()));
});
