/** Backups and restores while their keys change. */
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { sweepBackups } from "../../../src/services/backups/make-backup.ts";
import { services } from "../support/accounts.ts";
import {
  backups,
  contentOf,
  download,
  emptyDeployment,
  KEY,
  makeBackup,
  restore,
  settings,
  upload,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { newUser, operator } from "../support/world.ts";

const { backupKeep } = settings;

beforeEach(async () => {
  withKey();
  await emptyDeployment();
});

afterEach(() => {
  vi.restoreAllMocks();
  settings.backupKeep = backupKeep;
});

afterAll(withoutKey);

const tick = (now: number) => sweepBackups(services, now, 60_000);
const ids = async () => (await backups()).backups.map(({ id }) => id);

test("a backup that was begun with another key is begun again", async () => {
  await newUser();
  const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
  await sweepBackups(services, Date.now(), 0);
  withKey("another-backup-key-for-tests-of-32-chars");
  await tick(Date.now());
  await tick(Date.now());
  const [made] = await ids();
  expect(made).not.toBe(id);
  expect((await contentOf(made ?? "")).tables.users).toBeDefined();
});

test("a restore accepts a backup of an earlier key that is still configured", async () => {
  await newUser();
  const id = await makeBackup();
  withKey("another-backup-key-for-tests-of-32-chars", KEY);
  const parts = await download(id);
  await emptyDeployment();
  await upload(id, parts);
  expect(await restore(id)).toMatchObject({ done: true });
});
