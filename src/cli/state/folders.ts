/** Where the command keeps things: in the system's usual places, which XDG's variables change. */
import { isAbsolute, join } from "node:path";
import envPaths from "env-paths";

export interface Folders {
  /** The credentials. */
  config: string;
  /** What lets interrupted work go on. */
  state: string;
  /** What can be made again. */
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

/** As in the XDG Base Directory specification, which ignores relative paths; on any system. */
const inXdg = (folder = ""): string | undefined =>
  isAbsolute(folder) ? join(folder, "auspex") : undefined;
