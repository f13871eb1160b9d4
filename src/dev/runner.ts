import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { noDocker, readDockerInfo } from "../../runner/src/engines/docker/info.ts";
import { DEFAULT_SOCKET } from "../../runner/src/engines/options.ts";
import { settlesWithin } from "../lib/timeout.ts";
import { DEFAULT_HARDWARE, hardware } from "../protocol/hardware.ts";
import { newToken } from "../protocol/operator.ts";
import { ROOT } from "./bundle.ts";
import type { Client } from "./client.ts";
import { STATE_FOLDER } from "./state.ts";

export interface RunnerOptions {
  url: string;
  token: string;
  name: string;
  hardware: string;
  slots: number;
  /** Folder of the runner, for state that outlives it. */
  stateFolder: string;
  /** The models of each of the owners, for the process engine. Without them the runner uses Docker. */
  models?: { owners: string[]; folder: string };
  /** The command that starts the runner. By default it runs from source. */
  command?: readonly [string, ...string[]];
  /** More settings, as environment variables. */
  environment?: Record<string, string>;
  /** Called with each log line. */
  onLine?: (line: string) => void;
}

export interface RunnerProcess {
  process: ChildProcess;
  /** Drains and stops the runner; kills it after `ms`. */
  stop(ms: number): Promise<void>;
}

/** The models folder of a runner has one folder per owner: here a link. */
function byOwner({ owners, folder }: { owners: string[]; folder: string }, state: string): string {
  const models = join(state, "owners");
  mkdirSync(models, { recursive: true });
  for (const owner of owners) {
    rmSync(join(models, owner), { force: true });
    symlinkSync(folder, join(models, owner), "dir");
  }
  return models;
}

const SOURCES = [process.execPath, join(ROOT, "runner/src/main.ts")] as const;

/** Starts a runner in its own process group, so that Ctrl-C in the terminal does not reach it; use `stop`. */
export function startRunner(options: RunnerOptions): RunnerProcess {
  const [command, ...args] = options.command ?? SOURCES;
  const child = spawn(command, [...args, "run"], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      AUSPEX_URL: options.url,
      AUSPEX_RUNNER_TOKEN: options.token,
      AUSPEX_NAME: options.name,
      AUSPEX_HARDWARE: options.hardware,
      AUSPEX_SLOTS: String(options.slots),
      AUSPEX_STATE: options.stateFolder,
      AUSPEX_CACHE: join(options.stateFolder, "cache"),
      ...(options.models !== undefined && {
        AUSPEX_ENGINE: "process",
        AUSPEX_MODELS: byOwner(options.models, options.stateFolder),
      }),
      ...options.environment,
    },
  });
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on("line", (line) => options.onLine?.(line));
  }
  return {
    process: child,
    async stop(ms) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      if (!(await settlesWithin(exited, ms))) child.kill("SIGKILL");
      await exited;
    },
  };
}

/**
 * Beside it, the example models have a class of their own, since their runner has no Docker: models that
 * name no class, as those of one's own, are for the runner with Docker.
 */
export const EXAMPLES_CLASS = "examples";
const SLOTS = 4;

const socket = process.env.AUSPEX_DOCKER_SOCKET;

/** Checks Docker before anything is started. @throws Error with advice */
export async function requireDocker(): Promise<void> {
  const socketPath = socket ?? DEFAULT_SOCKET;
  await readDockerInfo(socketPath).catch((error: unknown) => {
    throw new Error(
      `${noDocker(socketPath, error)}. Start Docker, give this user access to that socket, set another with AUSPEX_DOCKER_SOCKET, or omit --docker.`,
    );
  });
}

export async function seedExamples(operator: Client): Promise<string> {
  await operator.call(hardware, "PUT", `/operator/hardware/${EXAMPLES_CLASS}`, {
    body: { name: "Example models, without Docker" },
  });
  const body = { name: "npm start: example models", hardware: [EXAMPLES_CLASS] };
  return (await operator.call(newToken, "POST", "/operator/runner_tokens", { body })).token;
}

export const startDockerRunner = (
  url: string,
  token: string,
  onLine: (line: string) => void,
): RunnerProcess =>
  startRunner({
    url,
    token,
    name: "docker",
    hardware: DEFAULT_HARDWARE,
    slots: SLOTS,
    stateFolder: join(STATE_FOLDER, "docker-runner"),
    environment: socket === undefined ? {} : { AUSPEX_DOCKER_SOCKET: socket },
    onLine,
  });
