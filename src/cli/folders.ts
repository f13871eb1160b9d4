/** The package of the command, and its folders in the system's usual places or those of XDG's variables. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import envPaths from "env-paths";
import { Failure } from "./failure.ts";
import manifest from "./package.json" with { type: "json" };

export const VERSION = manifest.version;

export const USER_AGENT = `auspex/${VERSION}`;

/** The folder with package.json and templates. */
export const FOLDER = fileURLToPath(new URL(".", import.meta.url));

const NODE = manifest.engines.node.replace(">=", "");

/** Checks Node's version: npm only warns, and an older Node fails with network errors. @throws Failure */
export function requireNode(running: string): void {
  if (running.localeCompare(NODE, "en", { numeric: true }) >= 0) return;
  throw new Failure(
    `auspex requires Node ${NODE} or newer; this is Node ${running}. Install it from https://nodejs.org or with your version manager (nvm install 24).`,
  );
}

export interface Folders {
  config: string;
  /** Folder of the notes that let interrupted work resume. */
  state: string;
  /** Folder of files that can be created again. */
  cache: string;
}

export function foldersOf(environment: NodeJS.ProcessEnv): Folders {
  const { config, data, log, cache } = envPaths("auspex", { suffix: "" });
  return {
    config: inXdg(environment.XDG_CONFIG_HOME) ?? config,
    // env-paths has none for state: on Linux, its folder for logs is that one.
    state: inXdg(environment.XDG_STATE_HOME) ?? (process.platform === "linux" ? log : data),
    cache: inXdg(environment.XDG_CACHE_HOME) ?? cache,
  };
}

/** The XDG Base Directory specification ignores relative paths. */
const inXdg = (folder = ""): string | undefined =>
  isAbsolute(folder) ? join(folder, "auspex") : undefined;

/** Creates a folder and its parents. `mkdir` with `recursive` never ends below /proc, which allows none. */
export async function makeFolder(folder: string): Promise<void> {
  const make = () =>
    mkdir(folder).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST" || !(await stat(folder)).isDirectory()) throw error;
    });
  await make().catch(async (error: NodeJS.ErrnoException) => {
    const parent = dirname(folder);
    if (error.code !== "ENOENT" || parent === folder) throw error;
    await makeFolder(parent);
    await make();
  });
}

const OWNED = /^(\d+)-/;

/**
 * Creates a folder for large files, which the caller removes, and removes those of killed processes. A
 * layer may have 10 GB, so the folder is in the cache: many systems keep their temporary files in memory.
 */
export async function makeScratch(cache: string): Promise<string> {
  const folder = join(cache, "scratch");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const [, pid] = OWNED.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(folder, name), { recursive: true, force: true });
  }
  return mkdtemp(join(folder, `${process.pid}-`));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that another user's process has this id.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
