import { readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type {} from "../support/sized.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Where Linux keeps files in memory. */
const MEMORY = "/dev/shm";
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * Temporary files stay in memory where there is room: each commit of a database would wait for the
 * disk, 1 to 7 ms, and one file of tests makes thousands.
 */
if (process.env.TMPDIR === undefined && hasRoom()) process.env.TMPDIR = MEMORY;

/**
 * Node keeps compiled modules, for all processes of a run and for the next run: a runner starts with
 * 0.4 s of processor time instead of 0.7 s.
 */
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules/.cache/compiled");

/** Docker gives a container 64 MB, and nothing may be executed there. */
function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const options = mounts.findLast((line) => line.split(" ")[1] === MEMORY)?.split(" ")[3];
    return bavail * bsize >= ROOM_BYTES && !!options && !options.split(",").includes("noexec");
  } catch {
    return false;
  }
}

/**
 * Set by `npm run test:nightly`, which runs the files named `*.nightly.test.ts`, and some others at full size
 * (test/support/sized.ts).
 */
export const isNightly = process.env.AUSPEX_NIGHTLY !== undefined;

/**
 * @param folders below `test`
 * @param sized files of these that do more at night
 */
export function filesOf(folders: string[], sized: string[] = []) {
  const nightly = folders.map((folder) => `test/${folder}/**/*.nightly.test.ts`);
  if (isNightly) return { include: [...nightly, ...sized], exclude: [] };
  return { include: folders.map((folder) => `test/${folder}/**/*.test.ts`), exclude: nightly };
}

/**
 * Four groups, one after the other, on two processors; by itself vitest takes one worker less than
 * there are. Real processes wait as well as work, and the Worker waits for its objects; rules only
 * compute, and another worker would only import the same once more.
 */
export const REAL_PROCESSES = { maxWorkers: 4, sequence: { groupOrder: 0 } };
export const RULES = { maxWorkers: 2, sequence: { groupOrder: 1 } };
export const WORKER = { maxWorkers: 3, sequence: { groupOrder: 2 } };
/** Not beside containers: Chromium gives up all its requests when a network comes or goes on the machine. */
export const BROWSER = { maxWorkers: 4, sequence: { groupOrder: 3 } };

/** Pure rules that take seconds, at night a minute. */
export const BOUNDS = ["test/**/*.bounds.test.ts", "test/**/*.property.test.ts"];
