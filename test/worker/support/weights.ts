/** Versions with weights, and the jobs that need them. */
import type { Job } from "../../../src/protocol/runner.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { publish } from "./catalogue.ts";
import type { Client } from "./client.ts";
import { uploaded, uploadRow } from "./files.ts";
import { sweep } from "./queues.ts";
import type { World } from "./world.ts";

export const TARGET = "/models/a.gguf";

export const weightsAt = (file: string, target = TARGET) => ({
  configuration: { weights: [{ target, file }] },
});

/** Publishes a version with weights of a world's model. */
export async function weighed(world: World, content = "weights") {
  const upload = await uploaded(world.client, content, { name: "a.gguf" });
  const version = await publish(world.client, world.model, weightsAt(upload.id));
  return { upload, version };
}

export async function swept(id: string): Promise<boolean> {
  await sweep();
  return (await uploadRow(id)) === null;
}

export const filesOf = ({ weights = [] }: Job) =>
  weights.filter((weight): weight is Extract<JobWeight, { kind: "file" }> => {
    return weight.kind === "file";
  });

/** Creates a prediction, and returns its job. */
export async function jobFor({ model, runner }: World, client: Client): Promise<Job> {
  await client.create({ model, input: {} });
  return (await runner()).take();
}
