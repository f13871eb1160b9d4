/** A version with as many weights as it may have. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { publish } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { uploaded } from "../support/files.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const filesOf = ({ weights = [] }: Job) =>
  weights.filter((weight): weight is Extract<JobWeight, { kind: "file" }> => {
    return weight.kind === "file";
  });

/** Creates a prediction, and returns its job. */
async function jobFor({ model, runner }: World, client: Client): Promise<Job> {
  await client.create({ model, input: {} });
  return (await runner()).take();
}

describe("a version's weights", () => {
  test("a version can have a hundred weights, one of them twice", async () => {
    const world = await newWorld();
    const uploads = await Promise.all(Array.from({ length: 99 }, () => uploaded(world.client)));
    const files = [...uploads, ...uploads.slice(0, 1)];
    const weights = files.map(({ id }, n) => ({ target: `/models/${n}`, file: id }));
    await publish(world.client, world.model, { configuration: { weights } });
    const job = await jobFor(world, world.client);
    expect(filesOf(job).map(({ target, id }) => ({ target, file: id }))).toEqual(weights);
  });
});
