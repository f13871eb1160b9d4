/** Limits of what sweeps and looks at deployments read, however many deployments there are. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { sweepDeployments } from "../../../src/services/deployments/claims.ts";
import { services } from "../support/accounts.ts";
import { at, grantedWorld, newDeployment, newStarted } from "../support/deployments.ts";
import { setVariable } from "../support/variables.ts";

afterEach(() => void vi.restoreAllMocks());

const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));

/** Returns the characters of the largest answer of the database while something runs. */
async function largestAnswer(work: () => Promise<unknown>): Promise<number> {
  const spies = [vi.spyOn(statement, "raw"), vi.spyOn(statement, "all")];
  await work();
  const answers = spies.flatMap(({ mock }) => mock.results.map(({ value }) => value));
  return Math.max(...(await Promise.all(answers)).map((answer) => JSON.stringify(answer).length));
}

test("a sweep holds the variables of a model once, however many deployments run it", async () => {
  const { world } = await grantedWorld();
  const { client, model } = world;
  for (const name of ["ONE", "TWO", "THREE"])
    await setVariable(client, model, name, "x".repeat(30_000));
  const made = Array.from({ length: 10 }, () => newDeployment(client, { model, max_instances: 1 }));
  await Promise.all(made);
  const size = await largestAnswer(() => sweepDeployments(services, Date.now()));
  expect(size).toBeGreaterThan(120_000);
  expect(size).toBeLessThan(200_000);
});

test("a look at deployments tells pools nothing", async () => {
  const { world, made } = await newStarted();
  const { client } = world;
  const told = vi.spyOn(PoolObject.prototype, "setCapacityClaims");
  expect(await client.ok("GET", at(made))).toMatchObject({ status: { ready: 1, wanted: 1 } });
  await client.ok("GET", "/v1/deployments");
  expect(told).not.toHaveBeenCalled();
});
