/** Collaborators who use up what one person may have. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { setShare } from "../support/organizations.ts";
import { Repository } from "../support/registry.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

test("a collaborator who begins all the pushes they can leaves room for those of the owner", async () => {
  const { client, model } = await newWorld();
  const friend = await newUser();
  await setShare(model, friend, "write");
  const repository = new Repository(friend.client, model);
  const begin = async (by: Repository) => (await by.send("POST", "blobs/uploads/")).status;
  for (let n = 0; n < 100; n++) expect(await begin(repository)).toBe(202);
  expect(await begin(repository)).toBe(429);
  expect(await begin(repository.as(client))).toBe(202);
});
