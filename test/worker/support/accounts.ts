/** Accounts that have one of everything, to delete, and what remains of them. */
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import type { Caller } from "../../../src/services/access/access.ts";
import { setAvatar } from "../../../src/services/accounts/avatars.ts";
import { deleteAccount } from "../../../src/services/accounts/delete-account.ts";
import { getServices } from "../../../src/services/services.ts";
import { Client, ORIGIN } from "./client.ts";
import { newEndpoint } from "./endpoints.ts";
import { eventually } from "./eventually.ts";
import {
  beginUpload,
  keysBelow,
  rowOfUpload,
  sendPart,
  storeFile,
  storeValue,
  uploaded,
} from "./files.ts";
import { countRows, keepUp, objectOf, rowOf, tellCounts } from "./objects.ts";
import { sweep } from "./queues.ts";
import { Repository, randomBytes } from "./registry.ts";
import type { Channel } from "./runner.ts";
import { advance } from "./time.ts";
import { newWorld, unique, type World } from "./world.ts";

export const HOUR = 3_600;
export const services = getServices(env);
const nobody = new Client(undefined);

export const callerOf = ({ user_id }: Pick<World, "user_id">): Caller => ({
  token_id: "session",
  user_id,
  maker: "",
  role: "owner",
  scopes: ["read", "write", "predict"],
  models: null,
  priority: null,
});

export const giveUp = (world: Pick<World, "user_id">) => deleteAccount(services, callerOf(world));

export const GIF = new Blob(["GIF89a", new Uint8Array(20)]);

export const run = async (sql: string, ...values: unknown[]) =>
  (
    await env.DB.prepare(sql)
      .bind(...values)
      .all()
  ).results;

/** Adds a login and a session to the account, as a sign-up in the dashboard does. */
async function withLogin({ user_id, username }: Pick<World, "user_id" | "username">) {
  const id = crypto.randomUUID();
  await run(
    `INSERT INTO logins (id, name, email, email_verified, created_at, updated_at, two_factor_enabled)
      VALUES (?, '', ?, 1, 0, 0, 1)`,
    user_id,
    `${username}@a.test`,
  );
  await run("INSERT INTO two_factors VALUES (?, ?, 'x', 'x', 1, 0, NULL)", id, user_id);
  await run(
    "INSERT INTO sessions (id, user_id, token, expires_at, created_at, updated_at) VALUES (?, ?, ?, ?, 0, 0)",
    id,
    user_id,
    id,
    Date.now() + 1_000 * HOUR * 1_000,
  );
  await run(
    `INSERT INTO credentials (id, user_id, account_id, provider_id, password, created_at, updated_at)
      VALUES (?, ?, ?, 'credential', 'x', 0, 0)`,
    id,
    user_id,
    user_id,
  );
  await run(
    `INSERT INTO passkeys (id, user_id, public_key, credential_id, counter, device_type, backed_up)
      VALUES (?, ?, '', ?, 0, '', 0)`,
    id,
    user_id,
    id,
  );
  await run(
    "INSERT INTO invitations (id, hash, note, user_id, recovers, created_at, expires_at) VALUES (?, ?, '', ?, 1, 0, ?)",
    id,
    id,
    user_id,
    Date.now() + 1_000 * HOUR * 1_000,
  );
}

/** Gives an account one of everything that it can have, and returns the IDs. */
export async function settled(world: World, elsewhere: string) {
  const { client, model, user_id } = world;
  await withLogin(world);
  await setAvatar(services, callerOf(world), GIF, ORIGIN);
  const changes = { name: unique("Ada"), bio: "bio", urls: ["https://ada.example/"] };
  await client.ok("PATCH", "/v1/user", { ...changes, location: "London", company: "Engines" });
  const { id: modelId } = await client.ok<Model>("PATCH", `/v1/models/${model}`, {
    category_slugs: ["chat"],
  });
  await run("INSERT INTO model_variables VALUES (?, 'KEY', 'sealed', 0)", modelId);
  const endpoint = await newEndpoint(client);
  const whole = await uploaded(client);
  const pending = await beginUpload(client, 5);
  await sendPart(pending.urls[0], "12345");
  // The account has four predictions: one has ended, with a file and a large value; one is of somebody else's
  // model; one runs; one waits.
  const runner = await world.runner(2);
  const done = await world.waiting();
  const first = await runner.work();
  const url = await storeFile(runner, first.job, "file");
  await first.channel.report([await storeValue(runner, first.job, "v".repeat(300_000))]);
  await first.channel.succeed(url);
  const abroad = (await client.create({ model: elsewhere, input: {} })).body.id;
  await client.cancel(abroad);
  const running = await world.waiting();
  const second = await runner.work();
  const waiting = await world.waiting();
  await eventually(async () => {
    for (const id of [done, abroad])
      expect(await rowOf(id)).toMatchObject({
        status: expect.stringMatching(/succeeded|canceled/),
      });
  });
  const images = new Repository(client, model);
  await images.pushImage();
  await images.patch(await images.begin(), randomBytes(10));
  const predictions = [done, abroad, running, waiting];
  return {
    predictions,
    running: { id: running, channel: second.channel },
    waiting,
    url,
    objects: await Promise.all(predictions.map(objectOf)),
    pending: await rowOfUpload(pending.id),
    names: [user_id, modelId, endpoint.id, whole.id, pending.id, ...predictions],
  };
}

/** Reports the end of a canceled run, as its runner does. */
export async function obey({ channel }: { channel: Channel }) {
  expect(await channel.next()).toEqual({ type: "cancel", reason: "its account is deleted" });
  await channel.report([], { status: "canceled", output: "none" });
}

type Row = Record<string, unknown>;

/** Returns all rows in which one of the texts occurs, with their tables. */
export async function rowsNaming(texts: string[]): Promise<[table: string, row: Row][]> {
  const tables = await run(
    `SELECT name FROM pragma_table_list
      WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
  );
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await run(`SELECT * FROM "${name}"`);
      return rows.map((row): [string, Row] => [String(name), row]);
    }),
  );
  return found.flat().filter(([, row]) => texts.some((text) => JSON.stringify(row).includes(text)));
}

/** Returns all keys of R2 in which one of the texts occurs. */
export const keysNaming = async (texts: string[]) =>
  (await keysBelow()).filter((key) => texts.some((text) => key.includes(text)));

export async function countOf(model: string): Promise<number> {
  await tellCounts();
  return (await nobody.ok<Model>("GET", `/v1/models/${model}`)).predictions_count;
}

/** Sweeps until the account has no rows left: objects report their ends between two sweeps. */
export async function sweeps(world: World) {
  await eventually(async () => {
    await sweep();
    // The account asks the objects of running predictions again after 5 minutes.
    if (vi.isFakeTimers()) advance(301);
    await keepUp(world.user_id);
    expect(await countRows(world.user_id)).toBe(0);
  });
  await sweep();
}

/** Returns another account with things of its own, which has also run the world's model. */
export async function neighbour(world: World) {
  const other = await newWorld({ visibility: "public" });
  await withLogin(other);
  await setAvatar(services, callerOf(other), GIF, ORIGIN);
  await newEndpoint(other.client);
  const upload = await uploaded(other.client, "theirs");
  await other.client.cancel(await other.waiting());
  const { id } = (await other.client.create({ model: world.model, input: { a: 1 } })).body;
  const { channel } = await (await world.runner()).work();
  await channel.succeed("theirs");
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  const state = async () => ({
    rows: (await rowsNaming([other.user_id])).map(([table, { last_used_at, swept_at, ...row }]) => [
      table,
      row,
    ]),
    keys: [...(await keysBelow(other.user_id)), ...(await keysBelow(upload.id))],
    output: (await other.client.get(id)).output,
    count: await countOf(other.model),
  });
  return { ...other, state };
}
