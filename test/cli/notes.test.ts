/** The notes on unfinished work, and their folder. */
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { foldersOf } from "../../src/cli/folders.ts";
import { Notes } from "../../src/cli/notes.ts";

const note = z.object({ id: z.uuid() });
const ONE = { id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e" };
const OTHER = { id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5f" };
const identity = ["https://auspex.test", "/home/ada/photo.png", 10, 1_000.25, undefined];

let folder: string;
let notes: Notes<typeof ONE>;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "auspex-notes-")), "uploads");
  notes = new Notes(folder, note);
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

test("a saved note is found by another command too, until it is removed", async () => {
  expect(await notes.find(identity)).toBe(undefined);
  await notes.save(identity, ONE);
  expect(await new Notes(folder, note).find(identity)).toEqual(ONE);
  await notes.save(identity, OTHER);
  expect(await notes.find(identity)).toEqual(OTHER);
  await notes.remove(identity);
  expect(await notes.find(identity)).toBe(undefined);
  expect(readdirSync(folder)).toEqual([]);
  await notes.remove(identity);
});

test("another identity has another note, and no other user may read a note", async () => {
  await notes.save(identity, ONE);
  const other = identity.with(3, 1_000.5);
  expect(await notes.find(other)).toBe(undefined);
  await notes.save(other, OTHER);
  expect(await notes.find(identity)).toEqual(ONE);
  const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600]);
});

test("a damaged note counts as none", async () => {
  await notes.save(identity, ONE);
  const [name = ""] = readdirSync(folder);
  for (const damage of ["", "{", "[]", '{"id": "../../etc"}']) {
    writeFileSync(join(folder, name), damage);
    expect(await notes.find(identity)).toBe(undefined);
  }
});

test("sweep removes old notes and nothing else", async () => {
  const week = 7 * 24 * 3_600_000;
  await notes.sweep(week);
  await notes.save(identity, ONE);
  const [old = ""] = readdirSync(folder);
  await notes.save(["new"], OTHER);
  writeFileSync(join(folder, "notes.txt"), "somebody else's");
  const now = Date.now();
  const then = (now - week) / 1000 - 60;
  for (const name of [old, "notes.txt"]) utimesSync(join(folder, name), then, then);
  await notes.sweep(week, now);
  expect(await notes.find(identity)).toBe(undefined);
  expect(await notes.find(["new"])).toEqual(OTHER);
  expect(readdirSync(folder)).toContain("notes.txt");
});

test.runIf(process.platform === "linux")(
  "the folders of the command follow the XDG variables",
  () => {
    const usual = {
      config: join(homedir(), ".config/auspex"),
      state: join(homedir(), ".local/state/auspex"),
      cache: join(homedir(), ".cache/auspex"),
    };
    expect(foldersOf({})).toEqual(usual);
    expect(foldersOf({ XDG_STATE_HOME: "relative" })).toEqual(usual);
    expect(foldersOf({ XDG_STATE_HOME: "/var/states" })).toEqual({
      ...usual,
      state: "/var/states/auspex",
    });
  },
);
