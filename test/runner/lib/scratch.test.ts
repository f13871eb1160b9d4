import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { ScratchFolders } from "../../../runner/src/lib/scratch.ts";
import { ONLY_SEAT } from "../../../runner/src/lib/seat.ts";

it("of a folder that others use too, only what has its own names goes", async () => {
  const root = mkdtempSync(join(tmpdir(), "auspex-scratch-test-"));
  const others = [
    "auspex-scratch-",
    "my auspex-scratch-0-Abc123",
    "auspex-scratch-0-Abc1234",
    "thesis",
  ];
  for (const name of others) mkdirSync(join(root, name));
  writeFileSync(join(root, "thesis.txt"), "mine");
  const folders = new ScratchFolders(root);
  const made = await folders.make();
  expect(statSync(made).mode & 0o777).toBe(0o700);
  writeFileSync(join(made, "file"), "");
  expect(readdirSync(root)).toContain(basename(made));
  await new ScratchFolders(root).sweep();
  expect(readdirSync(root).sort()).toEqual([...others, "thesis.txt"].sort());
  rmSync(root, { recursive: true });
});

it("what the process in the other seat has stays while that lives, and can be taken over", async () => {
  const root = mkdtempSync(join(tmpdir(), "auspex-scratch-test-"));
  const first = new ScratchFolders(root, { ...ONLY_SEAT, number: 0, isAlone: true });
  const [kept, given] = [await first.make(), await first.make()];
  writeFileSync(join(given, "file"), "");
  const second = new ScratchFolders(root, { ...ONLY_SEAT, number: 1, isAlone: false });
  await second.sweep();
  const own = await second.adopt(given);
  expect(readdirSync(own)).toEqual(["file"]);
  expect(readdirSync(root).sort()).toEqual([basename(kept), basename(own)].sort());
  await first.clear();
  expect(readdirSync(root)).toEqual([basename(own)]);
  await new ScratchFolders(root, { ...ONLY_SEAT, number: 0, isAlone: true }).sweep();
  expect(readdirSync(root)).toEqual([]);
  rmSync(root, { recursive: true });
});
