/** The removal of a closed account's data by the sweep, in steps, also when one fails. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { giveUp, HOUR, rowsNaming, run, sweeps } from "../support/accounts.ts";
import { Client } from "../support/client.ts";
import { keysBelow } from "../support/files.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const nobody = new Client(undefined);

test("an account's removal removes its models at once, while runs of others go on to their end", async () => {
  const world = await newWorld({ visibility: "public" });
  const stranger = await world.stranger();
  const { id } = (await stranger.create({ model: world.model, input: {} })).body;
  await giveUp(world);
  await sweeps(world);
  expect(await run("SELECT id FROM models WHERE owner_id = ?", world.user_id)).toEqual([]);
  const { channel } = await (await world.runner()).work();
  await channel.succeed("a");
  expect((await stranger.get(id)).output).toEqual(["a"]);
});

test("an account's removal finds rows and files that were made at the same moment", async () => {
  const { user_id, username } = await newUser();
  await giveUp({ user_id });
  await run(
    "INSERT INTO tokens (id, user_id, name, hash, prefix, scopes, created_at) VALUES (?, ?, '', ?, '', '[]', 0)",
    unique("token"),
    user_id,
    unique("hash"),
  );
  await run(
    `INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
      VALUES (?, ?, 'late', 'public', '', '', 0, 0)`,
    unique("model"),
    user_id,
  );
  await run(
    `INSERT INTO uploads (id, user_id, key, multipart_id, size, mime_type, part_size, created_at, completed_at, expires_at)
      VALUES (?, ?, ?, '', 1, '', 1, 0, 0, ?)`,
    unique("upload"),
    user_id,
    unique("key"),
    Date.now() + 1_000 * HOUR * 1_000,
  );
  await env.FILES.put(`${user_id}/avatar/late`, "late");
  await sweep();
  // The user's rows and the audit log outlive the account.
  const left = async () =>
    (await rowsNaming([user_id]))
      .map(([table]) => table)
      .filter((name) => !/^(?:user|audit_)/.test(name));
  // The rows with the sizes of the upload stay as well.
  expect((await left()).toSorted()).toEqual(["account_bytes", "file_bytes", "uploads"]);
  expect(await keysBelow(user_id)).toEqual([]);
  advance(48 * HOUR);
  await sweep();
  await sweep();
  expect(await left()).toEqual([]);
  expect(await run("SELECT username FROM users WHERE id = ?", user_id)).toMatchObject([
    { username: expect.stringMatching(/^gone\//) },
  ]);
  expect((await nobody.json("GET", `/v1/users/${username}`)).status).toBe(404);
});
