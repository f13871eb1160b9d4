import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { ScratchFolders } from "../../../runner/src/lib/scratch.ts";

it("a sweep of a folder that others also use removes only its own names", async () => {
  const root = mkdtempSync(join(tmpdir(), "auspex-scratch-test-"));
  const others = [
    "auspex-scratch-",
    "my auspex-scratch-Abc123",
    "auspex-scratch-Abc1234",
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

it("a sweep keeps the folders of adopted containers", async () => {
  const root = mkdtempSync(join(tmpdir(), "auspex-scratch-test-"));
  const folders = new ScratchFolders(root);
  const [kept] = [await folders.make(), await folders.make()];
  await new ScratchFolders(root).sweep([kept]);
  expect(readdirSync(root)).toEqual([basename(kept)]);
  rmSync(root, { recursive: true });
});
