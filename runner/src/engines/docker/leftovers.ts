/** Finds the containers of a runner by their labels, and removes those that no process adopts. */
import type Dockerode from "dockerode";
import type { Image } from "../../../../src/protocol/runner.ts";
import type { Log } from "../../lib/log.ts";
import { type Left, referenceOf } from "../engine.ts";
import { ignoreStatus } from "./ignore-status.ts";

/** The label's value is the runner's name. */
const RUNNER_LABEL = "auspex.runner";
/** The label's value is the image with its digest. */
const IMAGE_LABEL = "auspex.image";

export class Leftovers {
  readonly #docker: Dockerode;
  readonly #runner: string;
  readonly #log: Log;

  constructor(docker: Dockerode, runner: string, log: Log) {
    this.#docker = docker;
    this.#runner = runner;
    this.#log = log;
  }

  /** The labels of a new container; Docker prefers them to labels of the same name in its image. */
  labels(image: Image): Record<string, string> {
    return { [RUNNER_LABEL]: this.#runner, [IMAGE_LABEL]: referenceOf(image) };
  }

  /**
   * Removes the runner's containers.
   * @param left containers to spare, if they still run the same image at the same port
   * @returns the IDs of the spared ones
   */
  async sweep(left: Left["containers"] = []): Promise<string[]> {
    const kept: string[] = [];
    const filters = { label: [`${RUNNER_LABEL}=${this.#runner}`] };
    for (const container of await this.#docker.listContainers({ all: true, filters })) {
      const { Id } = container;
      if (left.some((one) => isUnchanged(one, container))) kept.push(Id);
      else {
        this.#log.warn("removing a container of an earlier runner process", {
          container: Id.slice(0, 12),
        });
        await ignoreStatus([404], this.#docker.getContainer(Id).remove({ force: true, v: true }));
      }
    }
    return kept;
  }
}

const isUnchanged = (
  { handle, image }: Left["containers"][number],
  { Id, State, Labels, Ports }: Dockerode.ContainerInfo,
): boolean =>
  Id === handle.id &&
  State === "running" &&
  Labels[IMAGE_LABEL] === referenceOf(image) &&
  Ports.some(({ PublicPort }) => String(PublicPort) === new URL(handle.address).port);
