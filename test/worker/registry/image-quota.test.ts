/** The limit of an account's stored images, and its usage in the API. */
import { afterEach, expect, test, vi } from "vitest";
import type { UserUsage } from "../../../src/protocol/user.ts";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { services } from "../support/accounts.ts";
import {
  digestOf,
  expectError,
  newRepository,
  Repository,
  randomBytes,
  streamOf,
} from "../support/registry.ts";

const { settings } = services;
const { imageBytes } = settings;

afterEach(() => {
  settings.imageBytes = imageBytes;
});

const usageOf = ({ client }: Repository) => client.ok<UserUsage>("GET", "/v1/user/usage");

test("stored layers and uploads under way count, each layer once", async () => {
  const repository = await newRepository();
  const layer = randomBytes(1_000);
  await repository.push(layer);
  await new Repository(repository.client, `${repository.username}/second`).push(layer);
  await repository.patch(await repository.begin(), randomBytes(500));
  const { images, database } = await usageOf(repository);
  expect(images).toEqual({ bytes: 1_500, max_bytes: imageBytes });
  expect(database.bytes).toBeGreaterThan(0);
});

test("an account at its limit is refused every way to send more, with advice", async () => {
  const repository = await newRepository();
  await repository.push(randomBytes(1_000));
  const location = await repository.begin();
  settings.imageBytes = 1_400;
  const layer = randomBytes(500);
  const message = await expectError(await repository.patch(location, layer), 403, "DENIED");
  expect(message).toContain("The account's images use 1 kB of 1.4 kB. Delete");
  const digest = `sha256:${"0".repeat(64)}`;
  await expectError(await repository.finish(location, digest, layer), 403, "DENIED");
  settings.imageBytes = 999;
  await expectError(await repository.patch(location, streamOf(layer)), 403, "DENIED");
  await expectError(await repository.send("POST", "blobs/uploads/"), 403, "DENIED");
});

test("a blob in one request counts while it arrives", async () => {
  const repository = await newRepository();
  await repository.push(randomBytes(10));
  settings.imageBytes = 1_400;
  const [first, second] = [randomBytes(900), randomBytes(900)];
  const { readable, writable } = new FixedLengthStream(first.byteLength);
  const writer = writable.getWriter();
  const path = (bytes: Uint8Array) => `blobs/uploads/?digest=${digestOf(bytes)}`;
  const sending = repository.send("POST", path(first), { body: readable });
  await writer.write(first.subarray(0, 1));
  await expect.poll(async () => (await usageOf(repository)).images.bytes).toBe(910);
  const refused = await repository.send("POST", path(second), { body: second });
  await expectError(refused, 403, "DENIED");
  await writer.write(first.subarray(1));
  await writer.close();
  expect((await sending).status).toBe(201);
  expect((await usageOf(repository)).images.bytes).toBe(910);
});

test("a blob of a request whose isolate died is removed by the sweep", async () => {
  const repository = await newRepository();
  await repository.push(randomBytes(10));
  const { IMAGES, DB } = services.env;
  const dying = vi.spyOn(IMAGES, "put").mockImplementationOnce(async (...given) => {
    const stored = await IMAGES.put(...given);
    vi.spyOn(DB, "batch").mockRejectedValue(new Error("the isolate is gone"));
    vi.spyOn(DB, "prepare").mockImplementation(() => {
      throw new Error("the isolate is gone");
    });
    return stored;
  });
  const bytes = randomBytes(500);
  const path = `blobs/uploads/?digest=${digestOf(bytes)}`;
  const answer = await repository.send("POST", path, { body: bytes });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  const [key = ""] = dying.mock.calls[0] ?? [];
  vi.restoreAllMocks();
  expect(await IMAGES.head(key)).not.toBeNull();
  await sweepRegistry(services, Date.now() + 86_400_000 + 60_000);
  expect(await IMAGES.head(key)).toBeNull();
});
