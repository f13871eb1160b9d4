/** Refused uploads and restores of backups, which give a reason and change nothing. */
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { sealPart } from "../../../src/domain/backups/seal.ts";
import { readManifest } from "../../../src/services/backups/manifest.ts";
import { run, services } from "../support/accounts.ts";
import {
  backups,
  download,
  emptyDeployment,
  KEY,
  makeBackup,
  putPart,
  restore,
  settings,
  upload,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { newModel, referenceOf } from "../support/catalogue.ts";
import type { Refusal } from "../support/client.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { setVariable } from "../support/variables.ts";
import { newUser, newWorld, operator } from "../support/world.ts";

const OTHER_KEY = "another-backup-key-for-tests-of-32-chars";
const SECRETS = settings.secretKeys;

let id: string;
let parts: Uint8Array<ArrayBuffer>[];
let model: string;
let username: string;
let url: string;

beforeAll(async () => {
  withKey();
  const { client, ...user } = await newUser();
  ({ username } = user);
  model = referenceOf(await newModel(client));
  await setVariable(client, model, "HF_TOKEN", "hf_x");
  ({ url } = await newEndpoint(client));
  id = await makeBackup(60_000);
  parts = await download(id);
});

afterEach(() => {
  withKey();
  settings.secretKeys = SECRETS;
});

afterAll(withoutKey);

const refusal = async () => {
  const { status, body } = await operator.json<Refusal>(
    "POST",
    `/v1/operator/backups/${id}/restore`,
  );
  return [status, body.detail];
};

const nobody = async () => (await run("SELECT id FROM users")).length === 0;

/** Changes a stored part of the backup. */
async function changeStored(number: number, change: (key: string) => Promise<unknown>) {
  const { objects } = await env.BACKUPS.list({
    prefix: number === 0 ? "manifests/" : `parts/${id}/`,
  });
  const found = objects[Math.max(0, number - 1)] ?? expect.fail();
  await change(found.key);
}

const flipped = (part: Uint8Array<ArrayBuffer> | undefined) => {
  const copy = new Uint8Array(part ?? expect.fail());
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
};

describe("an upload", () => {
  test("an upload with another key is refused", async () => {
    await emptyDeployment();
    withKey(OTHER_KEY);
    const [status, text] = await putPart(id, 1, parts[1] ?? expect.fail());
    expect([status, text]).toEqual([
      409,
      expect.stringMatching(/encrypted with a different BACKUP_KEY \(key ID [0-9a-f]{8}/),
    ]);
    withKey(OTHER_KEY, KEY);
    expect((await putPart(id, 1, parts[1] ?? expect.fail()))[0]).toBe(200);
  });

  test("an upload of a changed, misplaced or invalid part is refused", async () => {
    expect(await putPart(id, 1, flipped(parts[1]))).toEqual([
      409,
      expect.stringContaining("was modified, or belongs to another backup"),
    ]);
    expect(await putPart(id, 2, parts[1] ?? expect.fail())).toEqual([
      409,
      expect.stringContaining("belongs to another backup"),
    ]);
    expect((await putPart(crypto.randomUUID(), 1, parts[1] ?? expect.fail()))[0]).toBe(409);
    expect((await putPart(id, 1, new Uint8Array(3)))[0]).toBe(409);
    const bare = await operator.fetch(`/v1/operator/backups/${id}/parts/1`, { method: "PUT" });
    expect(bare.status).toBe(400);
    await bare.text();
  });

  test("an upload of a manifest before its parts is refused", async () => {
    expect(await putPart(id, 0, parts[0] ?? expect.fail())).toEqual([
      409,
      expect.stringMatching(/Part 2 of the backup .* is missing/),
    ]);
    expect(await refusal()).toEqual([404, expect.any(String)]);
    expect((await backups()).backups).toEqual([]);
  });
});

describe("a restore", () => {
  test("a restore without a key, or with another one, is refused", async () => {
    await emptyDeployment();
    await upload(id, parts);
    withoutKey();
    expect(await refusal()).toEqual([409, expect.stringContaining("Set the secret BACKUP_KEY")]);
    withKey(OTHER_KEY);
    expect(await refusal()).toEqual([409, expect.stringContaining("different BACKUP_KEY")]);
    withKey(KEY, "too-short");
    expect(await refusal()).toEqual([409, expect.stringContaining("fewer than 32 characters")]);
    expect(await nobody()).toBe(true);
  });

  test("a restore of a backup with other tables is refused", async () => {
    const manifest = await readManifest(services, id);
    const { columns } = manifest;
    const users = columns.users ?? [];
    const older = { ...columns, users: users.filter((name) => name !== "bio") };
    const newer = { ...columns, users: [...users, "shoe_size"], shoes: ["id"] };
    const refused = async (columns: typeof manifest.columns) => {
      const text = JSON.stringify({ ...manifest, columns });
      const sealed = await sealPart([KEY], { backup: id, number: 0 }, text);
      await changeStored(0, (key) => env.BACKUPS.put(key, sealed));
      return refusal();
    };
    expect(await refused(older)).toEqual([
      409,
      expect.stringMatching(
        /another version of Auspex. Deploy that version, restore the backup, then update. It has no users.bio/,
      ),
    ]);
    expect(await refused(newer)).toEqual([
      409,
      expect.stringContaining("It has also users.shoe_size, also shoes.id"),
    ]);
    expect(await nobody()).toBe(true);
  });

  test("a restore of a backup with a missing or changed part is refused", async () => {
    await emptyDeployment();
    await upload(id, parts);
    await changeStored(3, (key) => env.BACKUPS.put(key, flipped(parts[3])));
    expect(await refusal()).toEqual([
      409,
      expect.stringMatching(/Part 3 of .* was modified: its hash does not match/),
    ]);
    await changeStored(3, (key) => env.BACKUPS.put(key, parts[3] ?? expect.fail()));
    expect(await restore(id)).toMatchObject({ done: true, left_out: 0 });
    await emptyDeployment();
    await upload(id, parts);
    await changeStored(2, (key) => env.BACKUPS.delete(key));
    expect(await refusal()).toEqual([409, "Part 2 of the backup is missing."]);
    expect(await nobody()).toBe(true);
  });

  test("a restore into a deployment with users is refused", async () => {
    await emptyDeployment();
    await newWorld();
    const refused = [409, expect.stringContaining("only be restored into an empty deployment")];
    expect(await refusal()).toEqual(refused);
    await upload(id, parts);
    expect(await refusal()).toEqual(refused);
    expect(await run("SELECT id FROM users")).toHaveLength(1);
  });
});

test("a restore with another SECRET_KEY lists the values that have to be set again", async () => {
  await emptyDeployment();
  await upload(id, parts);
  settings.secretKeys = ["a-new-secret-key-for-tests-of-32-chars"];
  const variable = { model, name: "HF_TOKEN" };
  const endpoint = { owner: username, url };
  expect((await restore(id)).set_again).toEqual({
    variables: [variable],
    webhook_endpoints: [endpoint],
  });
  // A repeated request lists the values by the current keys.
  settings.secretKeys = ["a-new-secret-key-for-tests-of-32-chars", ...SECRETS];
  expect((await restore(id)).set_again).toEqual({ variables: [], webhook_endpoints: [] });
});
