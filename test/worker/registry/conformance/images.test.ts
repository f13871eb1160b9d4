/** The cases of OCI's conformance suite for images, indexes and artifacts, under its names. */
import { describe, expect, test } from "vitest";
import { MEDIA_TYPES } from "../../../../src/protocol/oci.ts";
import { sized } from "../../../support/sized.ts";
import { DataSet, descriptorOf, EXAMPLE_TYPES, type Manifest } from "../../support/conformance.ts";
import { bytesOf, digestOf, newRepository } from "../../support/registry.ts";

const repo = await newRepository();
await repo.push(bytesOf("{}"));

const [EXAMPLE_1, EXAMPLE_2] = EXAMPLE_TYPES;
const HELLO = { "org.opencontainers.conformance": "hello conformance test" };
const CUSTOM = { "org.custom": "custom" };

/** Makes manifests that get their tags when they are put by digest. */
async function withTagParameters(set: DataSet): Promise<void> {
  await set.multiPlatform();
  for (const [n, { digest }] of set.manifests.entries()) set.tags.set(`tag-param-${n}`, digest);
  set.tags.set("tag-param", set.manifests.at(-1)?.digest ?? "");
}

const DATA: Record<string, (set: DataSet) => Promise<unknown>> = {
  image: (set) => set.image({ tag: "image" }),
  "image-uncompressed": async (set) => {
    const layers = [await set.layer("application/vnd.oci.image.layer.v1.tar")];
    return set.image({ tag: "image-uncompressed", layers });
  },
  "large-manifest": (set) => {
    const large = Array.from({ length: 390 }, (_, n) => [`large-${n}`, "A".repeat(10_000)]);
    return set.image({ tag: "large-manifest", annotations: Object.fromEntries(large) });
  },
  index: (set) => set.multiPlatform({ tag: "index" }),
  "nested-index": async (set) => {
    const inner = [await set.multiPlatform(), await set.multiPlatform()];
    return set.index(inner, { tag: "index-of-index" });
  },
  "empty-index": (set) => set.index([], { tag: "index" }),
  artifact: (set) => set.artifact(EXAMPLE_1, { tag: "artifact" }),
  "artifact-index": async (set) => {
    const artifacts = [await set.artifact(EXAMPLE_1), await set.artifact(EXAMPLE_1)];
    return set.index(artifacts, { tag: "artifact-index", artifactType: EXAMPLE_1 });
  },
  "artifact-without-layers": async (set) => {
    const layers = [await set.emptyConfig()];
    return set.artifact(EXAMPLE_1, { tag: "artifact-without-layers", layers });
  },
  "artifacts-with-subject": async (set) => {
    const subject = descriptorOf(await set.image({ tag: "image" }));
    await set.image({ subject });
    const annotations = (n: number) => ({ ...HELLO, [`org.example.${n}`]: "unique" });
    await set.artifact(EXAMPLE_1, { subject, annotations: annotations(1), tag: "artifact1" });
    await set.artifact(EXAMPLE_2, { subject, annotations: annotations(2), tag: "artifact2" });
  },
  "index-with-subject": async (set) => {
    const subject = descriptorOf(await set.multiPlatform({ tag: "index" }));
    const artifacts = [await set.artifact(EXAMPLE_1), await set.artifact(EXAMPLE_1)];
    const options = { subject, annotations: HELLO, artifactType: EXAMPLE_1 };
    return set.index(artifacts, { ...options, tag: "tagged-artifact" });
  },
  "missing-subject": (set) => {
    const subject = {
      mediaType: MEDIA_TYPES.ociManifest,
      digest: digestOf("missing content"),
      size: 123,
    };
    return set.artifact(EXAMPLE_1, { subject, annotations: HELLO, tag: "tagged-artifact" });
  },
  "data-field": (set) => set.image({ tag: "data-field", withData: true }),
  "custom-fields": (set) => set.multiPlatform({ tag: "custom-fields", extra: CUSTOM }),
  "no-layers": (set) => set.image({ tag: "no-layers", layerCount: 0 }),
  sha512: (set) => set.multiPlatform(),
  "tag-param-sha256": withTagParameters,
  "tag-param-sha512": withTagParameters,
};

/** One kind of content, an index, referrers, and tags of a sha512 digest. */
const EVERY = ["image", "index", "artifacts-with-subject", "tag-param-sha512"];

const SHA512 = new Set(["sha512", "tag-param-sha512"]);

/** Checks that a manifest is read as it was pushed, by its digest or a tag. */
async function expectManifest(reference: string, { text, mediaType, digest, size }: Manifest) {
  const path = `manifests/${reference}`;
  const [head, read] = [await repo.send("HEAD", path), await repo.send("GET", path)];
  for (const { status, headers } of [head, read]) {
    expect([reference, status]).toEqual([reference, 200]);
    expect(headers.get("content-type")).toBe(mediaType);
    expect(headers.get("content-length")).toBe(String(size));
    expect(headers.get("docker-content-digest")).toBe(digest);
  }
  expect(await head.text()).toBe("");
  expect((await read.text()) === text).toBe(true);
}

const referrersOf = async (digest: string, query = "") => {
  const answer = await repo.send("GET", `referrers/${digest}${query}`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe(MEDIA_TYPES.ociIndex);
  const index = await answer.json<{ manifests: { digest: string; artifactType?: string }[] }>();
  expect(index).toMatchObject({ schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex });
  return { answer, manifests: index.manifests };
};

const byDigest = <Item extends { digest: string }>(items: Item[]) =>
  items.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));

describe.each(Object.entries(DATA).filter(([name]) => sized(EVERY.includes(name), true)))(
  "%s",
  async (name, make) => {
    const set = new DataSet(SHA512.has(name) ? "sha512" : "sha256");
    await make(set);
    const manifestOf = (digest: string) =>
      set.manifests.find((one) => one.digest === digest) ?? expect.fail("no such manifest");
    const tagsOf = (digest: string) =>
      [...set.tags].flatMap(([tag, one]) => (one === digest ? [tag] : []));
    const takesTags = name.startsWith("tag-param");

    test("push", async () => {
      for (const [digest, bytes] of set.blobs) {
        const put = await repo.finish(await repo.begin(), digest, bytes);
        expect(put.status, await put.text()).toBe(201);
      }
      for (const { digest, text, mediaType } of set.manifests) {
        const tags = tagsOf(digest);
        const query = takesTags ? `?${tags.map((tag) => `tag=${tag}`).join("&")}` : "";
        const references = [`${digest}${query}`, ...(takesTags ? [] : tags)];
        for (const reference of references) {
          const put = await repo.putManifest(reference, text, mediaType);
          expect(put.status, await put.text()).toBe(201);
          expect(put.headers.get("docker-content-digest")).toBe(digest);
          expect(put.headers.get("location")).toBe(`/v2/${repo.name}/manifests/${digest}`);
          if (takesTags) expect(put.headers.get("oci-tag")).toBe(tags.join(", "));
          const { subject } = JSON.parse(text);
          expect(put.headers.get("oci-subject")).toBe(subject?.digest ?? null);
        }
      }
    });

    test("tag-list", async () => {
      const sorted = [...set.tags.keys()].toSorted();
      const list = async (query: string) =>
        (await (await repo.send("GET", `tags/list${query}`)).json<{ tags: string[] }>()).tags;
      expect(await list("")).toEqual(sorted);
      const half = sorted.slice(0, sorted.length / 2);
      const rest = sorted.slice(half.length);
      if (half.length > 0) expect(await list(`?last=${half.at(-1)}`)).toEqual(rest);
    });

    test("head and pull", async () => {
      for (const manifest of set.manifests) await expectManifest(manifest.digest, manifest);
      for (const [tag, digest] of set.tags) await expectManifest(tag, manifestOf(digest));
      for (const [digest, bytes] of set.blobs) expect(await repo.blob(digest)).toEqual(bytes);
    });

    test("referrers", async () => {
      for (const { digest } of set.manifests)
        if (!set.referrers.has(digest)) expect((await referrersOf(digest)).manifests).toEqual([]);
      for (const [subject, attached] of set.referrers) {
        expect((await referrersOf(subject)).manifests).toEqual(byDigest(attached));
        for (const type of new Set(attached.map(({ artifactType }) => String(artifactType)))) {
          const query = `?artifactType=${encodeURIComponent(type)}`;
          const { answer, manifests } = await referrersOf(subject, query);
          expect(answer.headers.get("oci-filters-applied")).toBe("artifactType");
          const wanted = attached.filter(({ artifactType }) => artifactType === type);
          expect(manifests).toEqual(byDigest(wanted));
        }
      }
    });

    test("delete", async () => {
      const isGone = async (path: string) => {
        const answer = await repo.send("DELETE", path);
        expect([path, answer.status]).toEqual([path, 202]);
        expect([path, (await repo.send("HEAD", path)).status]).toEqual([path, 404]);
      };
      for (const tag of set.tags.keys()) await isGone(`manifests/${tag}`);
      for (const { digest } of set.manifests.toReversed()) await isGone(`manifests/${digest}`);
      for (const digest of set.blobs.keys()) await isGone(`blobs/${digest}`);
      for (const subject of set.referrers.keys())
        expect((await referrersOf(subject)).manifests).toEqual([]);
    });
  },
);
