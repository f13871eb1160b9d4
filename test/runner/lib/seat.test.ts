import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { seatFolder, takeFolder } from "../../../runner/src/lib/seat.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "auspex-seats-"));
  mkdirSync(join(root, "thesis"));
});
afterEach(() => {
  expect(existsSync(join(root, "thesis"))).toBe(true);
  rmSync(root, { recursive: true });
});

function leave(number: 0 | 1, file: string): void {
  mkdirSync(seatFolder(root, number));
  writeFileSync(join(seatFolder(root, number), file), "");
}

const filesOf = (number: 0 | 1) =>
  existsSync(seatFolder(root, number)) ? readdirSync(seatFolder(root, number)) : undefined;

test("one that is alone goes on with what the other seat's process has left", async () => {
  leave(1, "cached");
  await takeFolder(root, { number: 0, isAlone: true });
  expect(filesOf(0)).toEqual(["cached"]);
  expect(filesOf(1)).toBeUndefined();
});

test("of two folders it keeps its own", async () => {
  leave(0, "mine");
  leave(1, "cached");
  await takeFolder(root, { number: 0, isAlone: true });
  expect(filesOf(0)).toEqual(["mine"]);
  expect(filesOf(1)).toBeUndefined();
});

test("while the other process is there, its folder stays", async () => {
  leave(0, "in use");
  await takeFolder(root, { number: 1, isAlone: false });
  expect(filesOf(0)).toEqual(["in use"]);
  expect(filesOf(1)).toBeUndefined();
});
