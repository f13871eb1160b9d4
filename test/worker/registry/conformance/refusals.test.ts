/** The cases of OCI's conformance suite for missing and invalid content, and for lists of several pages. */
import { expect, test } from "vitest";
import { MEDIA_TYPES } from "../../../../src/protocol/oci.ts";
import { DataSet } from "../../support/conformance.ts";
import {
  bytesOf,
  digestOf,
  expectError,
  newRepository,
  Repository,
  randomBytes,
} from "../../support/registry.ts";

const repo = await newRepository();

async function pushBlobs(set: DataSet): Promise<void> {
  for (const [digest, bytes] of set.blobs)
    expect((await repo.finish(await repo.begin(), digest, bytes)).status).toBe(201);
}

test("ping", async () => {
  expect((await repo.client.fetch("/v2/")).status).toBe(200);
});

test("empty", async () => {
  const digest = digestOf(randomBytes(10));
  const isEmpty = async (one: Repository) => {
    const referrers = await one.send("GET", `referrers/${digest}`);
    expect(referrers.status).toBe(200);
    expect(referrers.headers.get("content-type")).toBe(MEDIA_TYPES.ociIndex);
    expect(await referrers.json()).toMatchObject({ schemaVersion: 2, manifests: [] });
  };
  // A repository that does not exist yet also has an empty list: a 404 would mean no support of referrers.
  await isEmpty(repo);
  await expectError(await repo.send("GET", "tags/list"), 404, "NAME_UNKNOWN");
  await repo.push(bytesOf("{}"));
  await isEmpty(repo);
  const tags = await repo.send("GET", "tags/list");
  expect(await tags.json()).toEqual({ name: repo.name, tags: [] });
});

test("missing-manifest", async () => {
  await repo.push(bytesOf("{}"));
  for (const reference of [digestOf(randomBytes(10)), "missing-tag"])
    for (const method of ["GET", "DELETE"])
      await expectError(await repo.send(method, `manifests/${reference}`), 404, "MANIFEST_UNKNOWN");
});

test("invalid-digest-format", async () => {
  const set = new DataSet();
  const { text } = await set.image({ layerCount: 1 });
  await pushBlobs(set);
  const put = await repo.putManifest("sha256:baddigeststring", text);
  await expectError(put, 400, "DIGEST_INVALID");
  const get = await repo.send("GET", "manifests/sha256:baddigeststring");
  await expectError(get, 400, "DIGEST_INVALID");
});

test("bad-digest-image", async () => {
  const set = new DataSet();
  const { text, digest } = await set.image();
  await pushBlobs(set);
  await expectError(await repo.putManifest(digest, `${text}  `), 400, "DIGEST_INVALID");
  expect((await repo.send("HEAD", `manifests/${digest}`)).status).toBe(404);
});

test("sparse: a manifest that names missing content is refused with its digests", async () => {
  const set = new DataSet();
  const { text } = await set.image({ tag: "sparse-image" });
  const [missing = "", ...others] = set.blobs.keys();
  set.blobs.delete(missing);
  await pushBlobs(set);
  const told = await expectError(
    await repo.putManifest("sparse-image", text),
    404,
    "MANIFEST_BLOB_UNKNOWN",
  );
  expect(told).toContain(missing);
  for (const digest of others) expect(told).not.toContain(digest);
  const image = await set.image();
  await pushBlobs(set);
  expect((await repo.putManifest(image.digest, image.text)).status).toBe(201);
  const absent = { ...image, digest: digestOf(randomBytes(10)) };
  const index = await set.index([image, absent], { tag: "sparse-index" });
  const refused = await repo.putManifest("sparse-index", index.text, MEDIA_TYPES.ociIndex);
  expect(await expectError(refused, 404, "MANIFEST_BLOB_UNKNOWN")).toContain(absent.digest);
  expect((await repo.send("HEAD", "manifests/sparse-index")).status).toBe(404);
});

test.each([
  ["not JSON", "{", undefined],
  ["an empty object", "{}", undefined],
  ["of another version", '{"schemaVersion":1}', undefined],
  ["of no known type", "{}", "application/vnd.docker.distribution.manifest.v1+prettyjws"],
  ["of another type than the request", '{"schemaVersion":2,"mediaType":"x/y"}', undefined],
])("a manifest that is %s is refused", async (_, text, type) => {
  await expectError(await repo.putManifest("odd", text, type), 400, "MANIFEST_INVALID");
});

test("a manifest of more than 4 MiB is refused", async () => {
  const set = new DataSet();
  const { text } = await set.image({ layerCount: 0, annotations: { x: "x".repeat(4 << 20) } });
  await pushBlobs(set);
  await expectError(await repo.putManifest("large", text), 413, "SIZE_INVALID");
});

test("an invalid tag is refused", async () => {
  for (const tag of [".x", "-x", "x".repeat(129), "x%20y"]) {
    const put = await repo.putManifest(tag, "{}");
    await expectError(put, 400, "MANIFEST_INVALID");
  }
});

test("tags have pages, each with the address of the next", async () => {
  const paged = new Repository(repo.client, `${repo.username}/paged`);
  const { manifest } = await paged.pushImage("v0");
  for (const tag of ["v3", "V2", "v1", "_v4"]) await paged.putManifest(tag, manifest);
  const pages: string[][] = [];
  for (let path: string | undefined = "tags/list?n=2"; path; ) {
    const answer: Response = await paged.send("GET", path);
    pages.push((await answer.json<{ tags: string[] }>()).tags);
    path = /^<(.+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  // Tags are sorted bytewise, as OCI requires.
  expect(pages).toEqual([["V2", "_v4"], ["v0", "v1"], ["v3"]]);
  const none = await paged.send("GET", "tags/list?n=0");
  expect([await none.json(), none.headers.get("link")]).toEqual([
    { name: paged.name, tags: [] },
    null,
  ]);
  const after = await paged.send("GET", "tags/list?last=v3");
  expect(await after.json()).toEqual({ name: paged.name, tags: [] });
});

test("non-distributable layers, which are stored elsewhere, are refused", async () => {
  const set = new DataSet();
  const layer = {
    mediaType: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    digest: digestOf("elsewhere"),
    size: 123_456,
    urls: ["https://store.example.com/blobs/1"],
  };
  const { digest, text } = await set.image({ layers: [layer, await set.layer()] });
  await pushBlobs(set);
  await expectError(await repo.putManifest(digest, text), 400, "MANIFEST_INVALID");
});
