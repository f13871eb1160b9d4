/** The second runner of `npm start -- --docker`: it runs images that are pushed to this deployment. */
import { join } from "node:path";
import { noDocker, readDockerInfo } from "../../runner/src/engines/docker/info.ts";
import { DEFAULT_SOCKET } from "../../runner/src/engines/options.ts";
import { hardware } from "../protocol/hardware.ts";
import { newToken } from "../protocol/operator.ts";
import type { Client } from "./client.ts";
import { type RunnerProcess, startRunner } from "./runner.ts";
import { STATE_FOLDER } from "./state.ts";

/** A class of its own: the runner of the example models has no Docker. */
export const DOCKER_CLASS = "docker";
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

/** The class of hardware, and a token for runners of it. */
export async function seedDocker(operator: Client): Promise<string> {
  await operator.call(hardware, "PUT", `/operator/hardware/${DOCKER_CLASS}`, {
    body: { name: "Docker on this machine" },
  });
  const body = { name: "npm start -- --docker", hardware: [DOCKER_CLASS] };
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
    hardware: DOCKER_CLASS,
    slots: SLOTS,
    stateFolder: join(STATE_FOLDER, "docker-runner"),
    environment: socket === undefined ? {} : { AUSPEX_DOCKER_SOCKET: socket },
    onLine,
  });
