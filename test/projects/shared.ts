import { readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type {} from "../support/sized.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** The folder in which Linux keeps files in memory. */
const MEMORY = "/dev/shm";
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * Temporary files are in memory if there is room: each commit of a database would wait 1 to 7 ms for the
 * disk, and one test file makes thousands.
 */
if (process.env.TMPDIR === undefined && hasRoom()) process.env.TMPDIR = MEMORY;

/**
 * Node keeps compiled modules, for all processes of a run and for the next run: a runner starts with 0.4 s of
 * processor time instead of 0.7 s.
 */
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules/.cache/compiled");

/** Whether /dev/shm has room. Docker gives a container 64 MB, where nothing may be executed. */
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
 * Groups run one after the other. The numbers are for two processors; vitest's default is one worker less than
 * there are processors. Rules only compute, and another worker would only import the same modules again. Four
 * workers with real processes take a sixth less processor time than six, and no longer.
 */
export const RULES = { maxWorkers: 2, sequence: { groupOrder: 1 } };
/** vitest gives up after a second, which a busy machine takes to start a process. */
const PATIENT = { expect: { poll: { timeout: 50_000 } } };
export const REAL_PROCESSES = { maxWorkers: 4, sequence: { groupOrder: 2 }, ...PATIENT };
/**
 * Four workerd take 40 % more processor time than two for the same tests, and are no faster. The group comes first,
 * because in CI a storm with containers is still under way.
 */
export const WORKER = { maxWorkers: 2, sequence: { groupOrder: 0 }, ...PATIENT };
/**
 * Browsers do not run next to containers: Chromium aborts all its requests when a network of the machine
 * comes or goes. Each worker has one Chromium and one deployment for all its files, which take 10 s of a
 * processor to start, so a third would take more time than it saves.
 */
export const BROWSER = { maxWorkers: 2, sequence: { groupOrder: 3 }, ...PATIENT };

/** Pure rules that take seconds, and at night a minute. */
export const BOUNDS = ["test/**/*.bounds.test.ts", "test/**/*.property.test.ts"];
