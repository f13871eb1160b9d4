/** A deployment whose models are images in a registry of the tests, for runners with Docker. */
import { publishModel } from "../../../src/dev/seed.ts";
import { docker, type Registry, startRegistry } from "../../docker/registry.ts";
import { listAllModels } from "../../support/models.ts";
import { USERNAME } from "./access.ts";
import type { Runner } from "./runner.ts";
import { World } from "./world.ts";

export interface Boxed {
  world: World;
  registry: Registry;
  close(): Promise<void>;
}

/** @param names of the models to build and publish; all by default */
export async function openBoxed(names?: readonly string[]): Promise<Boxed> {
  const registry = await startRegistry();
  const world = await World.open({
    variables: { IMAGE_REGISTRY: registry.host, IMAGE_ALLOW_LIST: `${registry.host}/weighed/*` },
    publish: async (owner) => {
      for (const folder of await listAllModels()) {
        const { name } = folder.manifest;
        if (names && !names.includes(name)) continue;
        const { digest } = await registry.push(name, USERNAME);
        await publishModel(owner, USERNAME, { ...folder, digest });
      }
    },
  });
  const close = async () => {
    try {
      await world.close();
    } finally {
      await registry.stop();
    }
  };
  return { world, registry, close };
}

/** Returns the images of a runner's containers. @param image a part of the image's name */
export async function containersOf({ name }: Runner, image = ""): Promise<string[]> {
  const format = '{{.Label "auspex.image"}}';
  const label = `label=auspex.runner=${name}`;
  const text = await docker("ps", "--all", "--filter", label, "--format", format);
  return text.split("\n").filter((line) => line !== "" && line.includes(image));
}

/** Returns the IDs of a runner's networks. */
export const networksOf = async ({ name }: Runner): Promise<string[]> =>
  (await docker("network", "ls", "--quiet", "--filter", `name=auspex-${name}`))
    .split("\n")
    .filter(Boolean);
