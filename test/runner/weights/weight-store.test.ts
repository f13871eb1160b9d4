/** Files that the store keeps: up to its size, always those that are held, then those that were used last. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ENTRY_BYTES,
  type HeldFiles,
  WeightStore,
} from "../../../runner/src/weights/weight-store.ts";
import { silent } from "../support/containers.ts";
import { recordedLog } from "../support/docker-box.ts";

const ACCOUNT = "a".repeat(64);
const OTHER = "b".repeat(64);
/** The bytes of a file, to which the store adds `ENTRY_BYTES`. */
const SIZE = 10_000 - ENTRY_BYTES;

const never = new AbortController().signal;

let folder: string;
let store: WeightStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-weights-"));
  store = await started(30_000);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function started(bytes: number, log = silent): Promise<WeightStore> {
  const made = new WeightStore(folder, bytes, log);
  await made.start();
  return made;
}

const nameOf = (letter: string) => letter.repeat(64);
const wanted = (letters: string, size = SIZE) =>
  [...letters].map((letter) => ({ name: nameOf(letter), size }));

function hold(
  letters: string,
  options: { account?: string; spare?: number; signal?: AbortSignal } = {},
) {
  const { account = ACCOUNT, spare = 0, signal = never } = options;
  let waits = false;
  const held = store.hold(account, () => ({ files: wanted(letters), spare }), {
    signal,
    onWait: () => {
      waits = true;
    },
  });
  return { held, isWaiting: () => waits };
}

/** Writes the held files, like a fetch does. */
async function complete(held: HeldFiles, letters: string): Promise<void> {
  for (const letter of letters) {
    writeFileSync(held.path(nameOf(letter)), Buffer.alloc(SIZE), { mode: 0o444 });
    await held.completed(nameOf(letter));
  }
}

async function stored(letters: string, account = ACCOUNT): Promise<void> {
  const held = await hold(letters, { account }).held;
  await complete(held, letters);
  held.release();
}

const present = (account = ACCOUNT) =>
  readdirSync(join(folder, "files", account))
    .map((name) => name[0])
    .sort()
    .join("");

test("the least recently used file is removed first", async () => {
  for (const letter of "123") await stored(letter);
  (await hold("1").held).release();
  await stored("4");
  expect(present()).toBe("134");
  await stored("56");
  expect(present()).toBe("456");
});

test("held files stay, and a hold that needs their room waits for their release", async () => {
  await stored("12");
  const held = await hold("12").held;
  const second = hold("34");
  await expect.poll(second.isWaiting).toBe(true);
  expect(present()).toBe("12");
  held.release();
  held.release();
  await second.held;
  expect(present()).toBe("2");
});

test("a waiting hold holds nothing, so two that need each other's half both succeed", async () => {
  await stored("1");
  await stored("2");
  const held = await hold("123").held;
  const [one, other] = [hold("14"), hold("25")];
  await expect.poll(() => one.isWaiting() && other.isWaiting()).toBe(true);
  held.release();
  const first = await Promise.race([one.held, other.held]);
  first.release();
  for (const { held } of [one, other]) (await held).release();
});

test("a wait ends with its signal", async () => {
  const held = await hold("123").held;
  const stop = new AbortController();
  const waiting = hold("4", { signal: stop.signal });
  await expect.poll(waiting.isWaiting).toBe(true);
  stop.abort(new Error("stopped"));
  await expect(waiting.held).rejects.toThrow("stopped");
  held.release();
});

test("a hold that can never have room is refused with the operator's remedy", async () => {
  await stored("1");
  await expect(hold("2345").held).rejects.toMatchObject({
    source: "internal",
    message: expect.stringContaining("--weights-gb"),
  });
  await expect(hold("2", { spare: 25_000 }).held).rejects.toThrow("--weights-gb");
  expect(present()).toBe("1");
});

test("spare room is only for files that are needed meanwhile", async () => {
  await stored("12");
  const held = await hold("3", { spare: 10_000 }).held;
  expect(present()).toBe("2");
  for (const name of [nameOf("8"), nameOf("9")]) {
    held.begin({ name, size: SIZE });
    writeFileSync(`${held.path(name)}.part`, "x");
    held.drop(name);
    expect(existsSync(`${held.path(name)}.part`)).toBe(false);
  }
  await complete(held, "3");
  held.release();
  // All spare room was given back.
  await stored("4");
  expect(present()).toBe("234");
});

test("a partial file is kept for the next hold, until others need its room", async () => {
  const held = await hold("1", { spare: 10_000 }).held;
  held.begin({ name: nameOf("9"), size: SIZE });
  for (const letter of "19") writeFileSync(`${held.path(nameOf(letter))}.part`, Buffer.alloc(SIZE));
  held.release();
  const again = await hold("1", { spare: 10_000 }).held;
  again.begin({ name: nameOf("9"), size: SIZE });
  expect(present()).toBe("19");
  again.release();
  await stored("234");
  expect(present()).toBe("234");
});

test("accounts share the room, and no files", async () => {
  await stored("1");
  expect(store.sizeOf(ACCOUNT, nameOf("1"))).toBe(SIZE);
  expect(store.sizeOf(OTHER, nameOf("1"))).toBeUndefined();
  await stored("123", OTHER);
  expect([present(), present(OTHER)]).toEqual(["", "123"]);
});

test("a size that differs from a file's own is refused", async () => {
  await stored("1");
  const lie = () => ({ files: wanted("1", SIZE + 1), spare: 0 });
  const holding = store.hold(ACCOUNT, lie, { signal: never, onWait() {} });
  await expect(holding).rejects.toMatchObject({ source: "external" });
  // The size of a file that has not arrived is unknown, so both sizes are accepted.
  (await hold("2").held).release();
  const other = () => ({ files: wanted("2", SIZE + 1), spare: 0 });
  (await store.hold(ACCOUNT, other, { signal: never, onWait() {} })).release();
  (await hold("12").held).release();
});

test("a later process knows the files, and the order of their use", async () => {
  const path = (letter: string) => join(folder, "files", ACCOUNT, nameOf(letter));
  mkdirSync(join(folder, "files", ACCOUNT));
  for (const [letter, seconds] of [
    ["1", 3_000],
    ["2", 1_000],
    ["3", 2_000],
  ] as const) {
    writeFileSync(path(letter), Buffer.alloc(SIZE));
    utimesSync(path(letter), seconds, 0);
  }
  store = await started(30_000);
  expect(store.list().map(({ lastUsed }) => lastUsed)).toEqual([1_000_000, 2_000_000, 3_000_000]);
  await stored("4");
  expect(present()).toBe("134");
  // Containers see only this file, whose time never changes.
  expect(statSync(path("4")).mtimeMs).toBe(0);
  const log = recordedLog();
  store = await started(20_000, log);
  expect(present()).toBe("14");
  expect(log.lines).toEqual([expect.stringContaining("least recently used")]);
});

test("a start leaves files of others alone, and removes files that were being removed", async () => {
  await stored("1");
  const trash = join(folder, "trash", crypto.randomUUID());
  mkdirSync(join(folder, "files", "notes"));
  for (const path of [
    trash,
    join(folder, "trash", "mine"),
    join(folder, "files", ACCOUNT, "mine"),
  ]) {
    writeFileSync(path, "x");
  }
  store = await started(30_000);
  expect(readdirSync(join(folder, "trash"))).toEqual(["mine"]);
  expect(readdirSync(join(folder, "files")).sort()).toEqual([ACCOUNT, "notes"]);
  expect(present()).toBe("1m");
});

test("the disk watch can remove any file that is not held", async () => {
  await stored("1");
  await stored("2");
  const held = await hold("1").held;
  const listed = (name: string) => store.list().find((one) => one.name.endsWith(nameOf(name)));
  const [first, second] = [listed("1"), listed("2")];
  expect([first, second]).toMatchObject([
    { kind: "weights", name: `${ACCOUNT.slice(0, 12)}/${nameOf("1")}`, size: 10_000, inUse: true },
    { name: `${ACCOUNT.slice(0, 12)}/${nameOf("2")}`, inUse: false },
  ]);
  expect([await first?.remove(), await second?.remove()]).toEqual([false, true]);
  expect(present()).toBe("1");
  held.release();
  expect([await first?.remove(), await first?.remove()]).toEqual([true, false]);
  expect(present()).toBe("");
  // The room of the removed file is free again.
  await stored("345");
});
