/** A runner with containers: a registry, an owner whose models are images, and hardware of its own. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { Client } from "../../src/dev/client.ts";
import { publishModel, seed } from "../../src/dev/seed.ts";
import { hardware } from "../../src/protocol/hardware.ts";
import { newToken } from "../../src/protocol/operator.ts";
import type { Registry } from "../docker/registry.ts";
import { listAllModels } from "../support/models.ts";
import { StormRunner } from "./weather/storm-runner.ts";

export const BOX_OWNER = "dora";
/** Models of the plan whose examples are images. */
export const BOXED = ["hello", "sums", "text-generation", "duotone"];
const HARDWARE = "box";

/** The folder of each image's volume, with a file in it that has the runner's name. */
const VOLUME = "/scratch";

/** Publishes the images, and starts a runner for them behind a cable. */
export async function startBoxes(
  registry: Registry,
  operator: Client,
  {
    url,
    cable,
    stateFolder,
    slots,
  }: { url: string; cable: string; stateFolder: string; slots: number },
): Promise<StormRunner> {
  // Names of containers are shared by all runners of the machine.
  const name = `boxes-${randomBytes(4).toString("hex")}`;
  const volume = `RUN mkdir ${VOLUME} && touch ${VOLUME}/${name}\nVOLUME ${VOLUME}\n`;
  const body = { name: "Boxes" };
  await operator.call(hardware, "PUT", `/operator/hardware/${HARDWARE}`, { body });
  const { token } = await seed(operator, BOX_OWNER);
  const owner = new Client(url, token);
  for (const folder of await listAllModels()) {
    const example = folder.manifest.name;
    if (!BOXED.includes(example)) continue;
    const { digest } = await registry.push(example, BOX_OWNER, volume);
    await publishModel(owner, BOX_OWNER, { ...folder, digest }, HARDWARE);
  }
  const { token: runnerToken } = await operator.call(newToken, "POST", "/operator/runner_tokens", {
    body: { name: "boxes", hardware: [HARDWARE] },
  });
  mkdirSync(stateFolder, { recursive: true });
  return new StormRunner({
    url: cable,
    token: runnerToken,
    name,
    hardware: HARDWARE,
    slots,
    stateFolder,
  });
}
