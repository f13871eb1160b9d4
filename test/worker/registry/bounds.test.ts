/** The cost of one request or sweep of the registry, however much a repository has. */
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { collectManifests } from "../../../src/storage/registry/collection.ts";
import { run, services } from "../support/accounts.ts";
import { VERSION } from "../support/catalogue.ts";
import { anonymous, digestOf, expectError, newRepository } from "../support/registry.ts";
import { unique } from "../support/world.ts";

const manyOf = (count: number) => JSON.stringify([...Array(count).keys()]);

test("a push updates used_at at most once an hour", async () => {
  const repository = await newRepository();
  const { manifest } = await repository.pushImage();
  const used = () => run("SELECT used_at FROM registry_links ORDER BY used_at DESC LIMIT 2");
  const before = await used();
  const minute = Date.now() + 60_000;
  vi.useFakeTimers({ now: minute, toFake: ["Date"] });
  try {
    expect((await repository.putManifest("v2", manifest)).status).toBe(201);
    expect(await used()).toEqual(before);
    vi.setSystemTime(minute + 3_600_000);
    expect((await repository.putManifest("v2", manifest)).status).toBe(201);
    expect(await used()).toEqual(Array(2).fill({ used_at: minute + 3_600_000 }));
  } finally {
    vi.useRealTimers();
  }
});

test("a step of the collection deletes manifests up to a number of references", async () => {
  const model = unique("model");
  for (const n of [1, 2, 3]) {
    const digest = unique("sha256:");
    await run("INSERT INTO registry_blobs VALUES (?, ?, 1, 0)", digest, digest);
    await run(
      `INSERT INTO registry_manifests (model_id, digest, user_id, media_type, size, named, used_at)
        VALUES (?, ?, '', '', 1, 10000, ?)`,
      model,
      digest,
      n,
    );
  }
  const step = { before: 10, now: 20, limit: 200 };
  expect(await collectManifests(services.db, step)).toBe(2);
  expect(await collectManifests(services.db, step)).toBe(1);
});

test("a refused deletion does not read the thousands of references to a manifest", async () => {
  const repository = await newRepository();
  const { digest, layers } = await repository.pushImage();
  await repository.client.ok("POST", `/v1/models/${repository.name}/versions`, {
    ...VERSION,
    container_image_digest: digest,
  });
  const layer = digestOf(layers[0] ?? expect.fail());
  await run(
    `INSERT INTO registry_references (model_id, manifest, digest)
      SELECT model_id, 'sha256:' || number.value, named.value FROM registry_manifests,
        json_each(?) AS number, json_each(?) AS named WHERE registry_manifests.digest = ?`,
    manyOf(5_000),
    JSON.stringify([layer, digest]),
    digest,
  );
  const batch = vi.spyOn(env.DB, "batch");
  const remove = (named: string) => repository.send("DELETE", `manifests/${named}`);
  await expectError(await remove(layer), 404, "MANIFEST_UNKNOWN");
  expect(await expectError(await remove(digest), 409, "DENIED")).toContain("version 1");
  const answers: D1Result[][] = await Promise.all(batch.mock.results.map(({ value }) => value));
  vi.restoreAllMocks();
  const rows = answers.flat().reduce((sum, { meta }) => sum + meta.rows_read, 0);
  expect(rows).toBeLessThan(100);
});

test("referrers are read page by page, also with a filter by type", async () => {
  const repository = await newRepository();
  const { digest } = await repository.pushImage();
  const [row] = await run("SELECT * FROM registry_manifests WHERE digest = ?", digest);
  await run(
    `INSERT INTO registry_blobs SELECT ? || value, ? || value, 1, 0 FROM json_each(?)`,
    `sha256:${digest.slice(10)}`,
    digest,
    manyOf(250),
  );
  await run(
    `INSERT INTO registry_manifests
      SELECT ?, ? || value, ?, '', 1, ?, iif(value = 0, 'a/rare', 'a/b'), NULL, 0, 0, 0 FROM json_each(?)`,
    row?.model_id,
    `sha256:${digest.slice(10)}`,
    row?.user_id,
    digest,
    manyOf(250),
  );
  let found = 0;
  let pages = 0;
  for (let at: string | undefined = `referrers/${digest}?artifactType=a/rare`; at; pages++) {
    const page: Response = await repository.send("GET", at);
    found += (await page.json<{ manifests: unknown[] }>()).manifests.length;
    at = /<(.+)>/.exec(page.headers.get("link") ?? "")?.[1];
  }
  expect({ found, pages }).toEqual({ found: 1, pages: 3 });
});

test("a manifest takes at most 50 tags at once, and is parsed only with a known type", async () => {
  const repository = await newRepository();
  const { manifest } = await repository.pushImage();
  const tags = Array.from({ length: 51 }, (_, n) => `tag=t${n}`).join("&");
  await expectError(await repository.putManifest(`v?${tags}`, manifest), 400, "MANIFEST_INVALID");
  const parse = vi.spyOn(JSON, "parse");
  const form = "application/x-www-form-urlencoded";
  const bomb = `{"a":[${"[],".repeat(1_000)}0]}`;
  const answer = await repository.putManifest("v1", bomb, form);
  const parsed = parse.mock.calls.filter(([text]) => text === bomb);
  parse.mockRestore();
  await expectError(answer, 400, "MANIFEST_INVALID");
  expect(parsed).toEqual([]);
});

test("a challenge contains nothing of an invalid name", async () => {
  for (const name of ["a%22,realm=%22http:%2F%2Fevil.test/b", "a%0d%0ab/c", "%E2%82%AC/b"]) {
    const answer = await anonymous.fetch(`/v2/${name}/manifests/latest`);
    await expectError(answer, 401, "UNAUTHORIZED");
    expect(answer.headers.get("www-authenticate")).toBe(
      'Bearer realm="https://auspex.test/v2/token",service="auspex.test"',
    );
  }
});
