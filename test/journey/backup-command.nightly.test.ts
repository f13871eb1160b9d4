/** `npm run backup`: a backup of one deployment is downloaded and restored into another. */
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BackupApi } from "../../src/dev/backup/api.ts";
import { runCommand } from "../../src/dev/backup/command.ts";
import { Client } from "../../src/dev/client.ts";
import type { Deployment } from "../../src/dev/deployment.ts";
import { model, version } from "../../src/protocol/model.ts";
import { newToken } from "../../src/protocol/operator.ts";
import { prediction, predictionWithIO } from "../../src/protocol/prediction.ts";
import { user } from "../../src/protocol/user.ts";
import { LOCAL } from "./support/access.ts";
import { startWorker } from "./support/deployment.ts";

const KEY = "a-backup-key-for-tests-of-32-characters";
const folder = mkdtempSync(join(tmpdir(), "auspex-backup-"));
const copy = join(folder, "backup");
const running: Deployment[] = [];

afterAll(async () => {
  await Promise.all(running.map((one) => one.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function deploy(name: string): Promise<Deployment> {
  const one = await startWorker({
    stateFolder: join(folder, name),
    variables: { BACKUP_KEY: KEY, SIGN_UP: "open" },
  });
  running.push(one);
  return one;
}

/** Runs one command of `npm run backup` and returns the lines that it says. */
async function command({ url }: Pick<Deployment, "url">, args: string[], keys = [KEY]) {
  const lines: string[] = [];
  const signal = new AbortController().signal;
  await runCommand(args, {
    api: () => new BackupApi(url, LOCAL.operatorToken, signal, 1),
    keys,
    say: (line) => lines.push(line),
    signal,
    lookMs: 20,
  });
  return lines.join("\n");
}

let from: Deployment;
let token: string;
let ended: string;
let waiting: string;

beforeAll(async () => {
  from = await deploy("from");
  const operator = new Client(from.url, LOCAL.operatorToken);
  await operator.call(user, "POST", "/operator/users", { body: { username: "ada" } });
  const path = "/operator/users/ada/tokens";
  ({ token } = await operator.call(newToken, "POST", path, { body: { name: "laptop" } }));
  const ada = new Client(from.url, token);
  const body = { name: "story", visibility: "public" };
  await ada.call(model, "POST", "/models", { body });
  await ada.call(version, "POST", "/models/ada/story/versions", {
    body: {
      release_notes: "First",
      container_image_digest: `sha256:${"a".repeat(64)}`,
      schemas: { prediction: { input: {}, output: {} } },
    },
  });
  const create = async () =>
    (
      await ada.call(prediction, "POST", "/predictions", {
        body: { model: "ada/story", input: {} },
      })
    ).id;
  ended = await create();
  await (await ada.fetch("POST", `/predictions/${ended}/cancel`)).text();
  waiting = await create();
});

test("the backup command downloads a backup, again only what is missing, and checks it", async () => {
  expect(await command(from, ["list"])).toBe("No backups yet.");
  const starting = command(from, ["start"]);
  const ticks = setInterval(() => void from.scheduled(), 100);
  expect(await starting).toMatch(/^Backup .* started\..*\nBackup .* is complete\.$/);
  clearInterval(ticks);
  expect(await command(from, ["list"])).toMatch(
    /^[0-9a-f-]{36} {2}20.*Z {2}\d+ rows, \d+ bytes in \d+ parts$/,
  );
  const said = await command(from, ["download", await newest(), copy]);
  expect(said).toContain(`to ${copy}.`);
  const files = await readdir(copy);
  const [part = ""] = files.filter((name) => name.startsWith("part-"));
  const before = await readFile(join(copy, part));
  await rm(join(copy, part));
  await expect(command(from, ["verify", copy])).rejects.toThrow(
    "is missing. Download the backup again",
  );
  await command(from, ["download", await newest(), copy]);
  expect(await readFile(join(copy, part))).toEqual(before);
  expect(await command(from, ["verify", copy])).toMatch(
    /1 {2}users\n.*All parts are present and can be decrypted/s,
  );
  await expect(command(from, ["verify", copy], [])).rejects.toThrow("different BACKUP_KEY");
  await writeFile(join(copy, part), before.subarray(1));
  await expect(command(from, ["verify", copy])).rejects.toThrow("was modified");
  await writeFile(join(copy, part), before);
});

test("the backup command mixes no two backups in one folder", async () => {
  const summary = join(copy, "backup.json");
  const before = await readFile(summary, "utf8");
  const id = crypto.randomUUID();
  await writeFile(summary, JSON.stringify({ ...JSON.parse(before), id }));
  await expect(command(from, ["download", await newest(), copy])).rejects.toThrow(
    `contains another backup, ${id}`,
  );
  await writeFile(summary, before);
});

test("the backup command restores a backup into an empty deployment, and only into one", async () => {
  await expect(command(from, ["restore", await newest()])).rejects.toThrow("empty deployment");
  const into = await deploy("into");
  const said = await command(into, ["restore", copy]);
  expect(said).toMatch(/^uploaded \d+ parts\n.*Restored\. Everyone has to log in again\./s);
  expect(said).not.toContain("not restored");
  const ada = new Client(into.url, token);
  const get = (id: string) => ada.call(predictionWithIO, "GET", `/predictions/${id}`);
  expect(await get(ended)).toMatchObject({ status: "canceled", data_removed: true });
  expect(await get(waiting)).toMatchObject({ status: "failed", error: { source: "internal" } });
  const body = { model: "ada/story", input: {} };
  expect(await ada.call(prediction, "POST", "/predictions", { body })).toMatchObject({
    status: "pending",
  });
});

test("the backup command uploads nothing to a deployment that somebody uses", async () => {
  const other = await deploy("other");
  const operator = new Client(other.url, LOCAL.operatorToken);
  await operator.call(user, "POST", "/operator/users", { body: { username: "bob" } });
  await expect(command(other, ["restore", copy])).rejects.toThrow("empty deployment");
  expect(await command(other, ["list"])).toBe("No backups yet.");
});

test("the backup command says which arguments it needs", async () => {
  await expect(command(from, ["restore"])).rejects.toThrow("npm run backup -- COMMAND");
  await expect(command(from, ["download", crypto.randomUUID()])).rejects.toThrow("not found");
  await expect(command(from, ["restore", "bakcup"])).rejects.toThrow(
    "bakcup is not a folder or a backup ID.",
  );
  const into = await deploy("nothing");
  await expect(command(into, ["restore", crypto.randomUUID()])).rejects.toThrow("was not found");
});

const newest = async () => {
  const [found] = (
    await new BackupApi(from.url, LOCAL.operatorToken, new AbortController().signal).list()
  ).backups;
  return found?.id ?? "";
};
