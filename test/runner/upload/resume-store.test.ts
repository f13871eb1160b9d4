/** The notes on unfinished uploads. */
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UploadOptions } from "../../../runner/src/upload/options.ts";
import { ResumeStore, resumeFolder } from "../../../runner/src/upload/resume-store.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const OTHER = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5f";

const options: UploadOptions = {
  url: "https://auspex.test",
  token: "aus_one",
  mime_type: "image/png",
  name: "photo.png",
  parallel: 4,
  quiet: false,
  file: { path: "/home/ada/photo.png", size: 10, mtimeMs: 1_000.25 },
};

let folder: string;
let store: ResumeStore;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "auspex-uploads-")), "uploads");
  store = new ResumeStore(folder);
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

test("what is kept is found, by another command as well, until it is forgotten", async () => {
  expect(await store.find(options)).toBe(undefined);
  await store.save(options, ID);
  expect(await new ResumeStore(folder).find(options)).toBe(ID);
  await store.save(options, OTHER);
  expect(await store.find(options)).toBe(OTHER);
  await store.remove(options);
  expect(await store.find(options)).toBe(undefined);
  expect(readdirSync(folder)).toEqual([]);
  await store.remove(options);
});

const { file } = options;
test.each<[string, Partial<UploadOptions>]>([
  ["service", { url: "https://other.test" }],
  ["path", { file: { ...file, path: "/home/ada/other.png" } }],
  ["size", { file: { ...file, size: 11 } }],
  ["time of writing", { file: { ...file, mtimeMs: 1_000.5 } }],
  ["media type", { mime_type: "image/jpeg" }],
  ["name", { name: undefined }],
])("another %s is another upload", async (_, other) => {
  await store.save(options, ID);
  expect(await store.find({ ...options, ...other })).toBe(undefined);
  await store.save({ ...options, ...other }, OTHER);
  expect(await store.find(options)).toBe(ID);
});

test("how it is sent makes no difference", async () => {
  await store.save(options, ID);
  const other = { ...options, parallel: 1, quiet: true, token: "aus_new" };
  expect(await store.find(other)).toBe(ID);
});

test("a note that was damaged is none", async () => {
  await store.save(options, ID);
  const [name = ""] = readdirSync(folder);
  for (const damage of ["", "{", "[]", '{"id": "../../etc"}']) {
    writeFileSync(join(folder, name), damage);
    expect(await store.find(options)).toBe(undefined);
  }
});

test("what is older than a week is swept, and nothing else", async () => {
  await store.sweep();
  await store.save(options, ID);
  const [old = ""] = readdirSync(folder);
  await store.save({ ...options, name: "new.png" }, OTHER);
  writeFileSync(join(folder, "notes.txt"), "somebody else's");
  const week = 7 * 24 * 3_600;
  const now = Date.now();
  for (const [name, age] of [
    [old, week + 60],
    ["notes.txt", week + 60],
  ] as const) {
    utimesSync(join(folder, name), now / 1000 - age, now / 1000 - age);
  }
  await store.sweep(now);
  expect(await store.find(options)).toBe(undefined);
  expect(await store.find({ ...options, name: "new.png" })).toBe(OTHER);
  expect(readdirSync(folder)).toContain("notes.txt");
});

test("where it is", () => {
  const usual = join(homedir(), ".local/state/auspex-runner/uploads");
  expect(resumeFolder({})).toBe(usual);
  expect(resumeFolder({ XDG_STATE_HOME: "relative" })).toBe(usual);
  expect(resumeFolder({ XDG_STATE_HOME: "/var/states" })).toBe("/var/states/auspex-runner/uploads");
});
