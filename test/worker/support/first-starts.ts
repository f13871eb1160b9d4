/** First starts of versions, and the descriptions that they report. */
import type { Version } from "../../../src/protocol/model.ts";
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import { Images } from "./images.ts";
import { newWorld, type World } from "./world.ts";

/** Publishes an image of this registry whose configuration is only `config`. */
export async function publishServer(world: World, config: object): Promise<World> {
  const images = new Images(world.client, world.model);
  await images.push("v1", config);
  await images.publish({ image: "v1", configuration: {} });
  return world;
}

export const newServer = async (config: object = { Entrypoint: ["vllm", "serve"] }) =>
  publishServer(await newWorld(), config);

export const versionOf = async ({ client, model }: World) =>
  (await client.json<Version>("GET", `/v1/models/${model}/versions/2`)).body;

export async function start(
  world: World,
  description?: ServerDescription,
  status = "succeeded" as const,
) {
  const { job, channel, runner } = await world.begun();
  const told = description && { description };
  await channel.report([], { status, output: "none", ...told });
  // Without this report, the next prediction would wait for this container.
  await runner.tell({ state: "stopped" });
  return job;
}
