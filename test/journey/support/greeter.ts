/** A publisher with a new model, which `auspex init` has made, and a runner that has Docker. */
import { Home } from "../../cli/support/command.ts";
import { docker, makeBase } from "../../docker/registry.ts";
import type { Runner } from "./runner.ts";
import { World } from "./world.ts";

export interface Greeter {
  world: World;
  runner: Runner;
  /** The folder `greeter` in it has the model. */
  home: Home;
  close(): Promise<void>;
}

export async function openGreeter(): Promise<Greeter> {
  const world = await World.open({ variables: { IMAGE_REGISTRY: "" }, publish: async () => {} });
  const runner = await world.runner("boxed");
  const home = new Home({
    AUSPEX_URL: world.access.url,
    AUSPEX_TOKEN: world.access.token,
    DOCKER_BUILDKIT: "0",
  });
  await makeBase();
  await home.run(["init", "greeter", "--template", "node"]);
  return { world, home, runner, close: () => close(world, home) };
}

async function close(world: World, home: Home): Promise<void> {
  await world.close();
  home.remove();
  await docker("image", "rm", "--force", "auspex/ada-greeter").catch(() => {});
  const pulled = await docker("images", "--quiet", `${new URL(world.access.url).host}/*/*/*`);
  for (const id of new Set(pulled.split("\n").filter(Boolean)))
    await docker("image", "rm", "--force", id).catch(() => {});
}
