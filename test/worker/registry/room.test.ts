/** How much an account may store, and where that is told. */
import { afterEach, expect, test } from "vitest";
import type { UserUsage } from "../../../src/protocol/user.ts";
import { services } from "../support/accounts.ts";
import {
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

test("what is stored and what is on its way counts, each layer once", async () => {
  const repository = await newRepository();
  const layer = randomBytes(1_000);
  await repository.push(layer);
  await new Repository(repository.client, `${repository.username}/second`).push(layer);
  await repository.patch(await repository.begin(), randomBytes(500));
  const { images, database } = await usageOf(repository);
  expect(images).toEqual({ bytes: 1_500, max_bytes: imageBytes });
  expect(database.bytes).toBeGreaterThan(0);
});

test("beyond the limit every way to send more is refused, and says what to do", async () => {
  const repository = await newRepository();
  await repository.push(randomBytes(1_000));
  const location = await repository.begin();
  settings.imageBytes = 1_400;
  const layer = randomBytes(500);
  const message = await expectError(await repository.patch(location, layer), 403, "DENIED");
  expect(message).toContain("Your images take 1 kB of 1.4 kB. Delete");
  const digest = `sha256:${"0".repeat(64)}`;
  await expectError(await repository.finish(location, digest, layer), 403, "DENIED");
  settings.imageBytes = 999;
  await expectError(await repository.patch(location, streamOf(layer)), 403, "DENIED");
  await expectError(await repository.send("POST", "blobs/uploads/"), 403, "DENIED");
});
