/** Examples of models, and runs that become examples. */
import { env } from "cloudflare:workers";
import type { Json } from "../../../src/protocol/common.ts";
import type { Model, Visibility } from "../../../src/protocol/model.ts";
import { newModel, publish, referenceOf } from "./catalogue.ts";
import { ORIGIN } from "./client.ts";
import type { DashboardUser } from "./dashboard-users.ts";
import type { RouteParameters } from "./route-parameters.ts";
import { FakeRunner } from "./runner.ts";
import { newRunnerToken, operator, unique } from "./world.ts";

interface Wanted {
  visibility?: Visibility;
  /** The schema of the input. */
  schema?: Record<string, Json>;
}

/** Creates a model, and returns it with a function that runs it to its end. */
export async function newRunnable(
  { client }: Pick<DashboardUser, "client">,
  { visibility = "private", schema = {} }: Wanted = {},
) {
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: hardware });
  const model = await newModel(client, { visibility, hardware_identifier: hardware });
  const reference = referenceOf(model);
  const schemas = { prediction: { input: schema, output: {} } };
  await publish(client, reference, { schemas });
  const runner = await FakeRunner.begin(await newRunnerToken(hardware), hardware, "box");
  const [owner = "", name = ""] = reference.split("/");

  /** @param outputOf returns the output for the prediction's ID; R2 has a text for each file that it names */
  async function run(input: object, outputOf: (id: string) => Json): Promise<string> {
    const { id } = (await client.create({ model: reference, input })).body;
    const { channel } = await runner.work();
    const events = [{ event: "output" as const, data: outputOf(id) }];
    const finish = {
      status: "succeeded" as const,
      output: "value" as const,
      execution_seconds: 1.5,
    };
    await channel.report(events, finish);
    channel.close();
    return id;
  }
  return { model, reference, owner, name, path: `/models/${reference}`, run, runner };
}

/** Stores a file of a run, as its runner would have uploaded it. */
export async function outputFile(id: string, name: string, bytes: string, type: string) {
  await env.FILES.put(`${id}/${name}`, bytes, { httpMetadata: { contentType: type } });
  return `${ORIGIN}/v1/files/${id}/${name}?expires=9999999999&signature=x`;
}

/** Creates a run that is not an example yet. */
export async function newPinnable(person: Pick<DashboardUser, "client">): Promise<RouteParameters> {
  const { owner, name, run } = await newRunnable(person);
  return { owner, name, prediction_id: await run({}, () => "out") };
}

/** Creates an example with a picture, the second of two. */
export const newExample = (person: Pick<DashboardUser, "client">) => exampleOf(person, "private");
export const newShownExample = (person: Pick<DashboardUser, "client">) =>
  exampleOf(person, "public");

async function exampleOf({ client }: Pick<DashboardUser, "client">, visibility: Visibility) {
  const model: Model = await newModel(client, { visibility });
  await publish(client, referenceOf(model));
  const [owner = "", name = ""] = referenceOf(model).split("/");
  await insertExample(model.id);
  return { owner, name, example: await insertExample(model.id, 1) };
}

/** Inserts an example with a picture. @returns its ID */
export async function insertExample(modelId: string, position = 0): Promise<string> {
  const id = crypto.randomUUID();
  await outputFile(id, "0-out.png", "png", "image/png");
  await env.DB.prepare("INSERT INTO examples VALUES (?, ?, ?, ?, 1, '{}', ?, 1.5, 0, NULL)")
    .bind(id, modelId, position, id, JSON.stringify(`/v1/files/${id}/0-out.png`))
    .run();
  return id;
}
