/** The second runner of `npm start -- --docker`: it runs images that are pushed to this deployment. */
import { join } from "node:path";
import { noDocker, readDockerInfo } from "../../runner/src/engines/docker/info.ts";
import { DEFAULT_SOCKET } from "../../runner/src/engines/options.ts";
import { DEFAULT_HARDWARE, hardware } from "../protocol/hardware.ts";
import { newToken } from "../protocol/operator.ts";
import type { Client } from "./client.ts";
import { type RunnerProcess, startRunner } from "./runner.ts";
import { STATE_FOLDER } from "./state.ts";

/**
 * Beside it, the example models have a class of their own, since their runner has no Docker: models that
 * name no class, as those of one's own, are for the runner with Docker.
 */
export const EXAMPLES_CLASS = "examples";
const SLOTS = 4;

const socket = process.env.AUSPEX_DOCKER_SOCKET;

/** Before anything is started. @throws Error with what to do */
export async function requireDocker(): Promise<void> {
  const socketPath = socket ?? DEFAULT_SOCKET;
  await readDockerInfo(socketPath).catch((error: unknown) => {
    throw new Error(
      `${noDocker(socketPath, error)}. Start Docker and give this user access to that socket, or name another with AUSPEX_DOCKER_SOCKET; or leave --docker out.`,
    );
  });
}

/** The class of the example models, and a token for their runner. */
export async function seedExamples(operator: Client): Promise<string> {
  await operator.call(hardware, "PUT", `/operator/hardware/${EXAMPLES_CLASS}`, {
    body: { name: "Example models, without Docker" },
  });
  const body = { name: "npm start -- --docker", hardware: [EXAMPLES_CLASS] };
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
