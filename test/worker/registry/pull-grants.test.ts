/** Grants with which runners pull the deployment's own images (src/domain/registry/grant.ts). */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { grantEnd } from "../../../src/domain/registry/grant.ts";
import { ownRepository } from "../../../src/protocol/registry.ts";
import type { Image } from "../../../src/protocol/runner.ts";
import { grantedModel } from "../../../src/services/registry/repositories.ts";
import { getServices } from "../../../src/services/services.ts";
import { forgetRunnerTokenChecks } from "../../../src/storage/accounts/reader-access.ts";
import { revoke, revokeInDatabase } from "../support/fleet.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const services = getServices(env);
const { setupTimeoutSeconds } = services.settings;

/** Returns the image of a job whose version is in the deployment's own registry. */
async function granted(): Promise<{ world: World; model_id: string; image: Image }> {
  const world = await newWorld();
  const [owner = "", name = ""] = world.model.split("/");
  const { id } = await world.client.ok<{ id: string }>("GET", `/v1/models/${owner}/${name}`);
  await env.DB.prepare("UPDATE versions SET repository = ? WHERE model_id = ?")
    .bind(ownRepository(id), id)
    .run();
  await world.waiting();
  const runner = await world.runner();
  const { image } = await runner.take();
  return { world, model_id: id, image };
}

const grantOf = ({ grant }: Image): string => {
  if (grant === undefined) throw new Error("the job has no grant");
  return grant;
};

describe("a job whose image is the deployment's own", () => {
  test("a job has a grant for the repository of its model", async () => {
    const { model_id, image } = await granted();
    expect(image.repository).toBe(`auspex/models/${model_id}`);
    expect(await grantedModel(services, grantOf(image))).toBe(model_id);
  });

  test("a job has no grant if its image is in another registry", async () => {
    const { job } = await (await newWorld()).begun();
    expect(Object.keys(job.image)).toEqual(["repository", "digest"]);
  });
});

describe("a grant", () => {
  test("a grant ends after the time for setups, with a margin", async () => {
    const { model_id, image } = await granted();
    const seconds = grantEnd(0, setupTimeoutSeconds) / 1_000;
    advance(seconds - 1);
    expect(await grantedModel(services, grantOf(image))).toBe(model_id);
    advance(1);
    expect(await grantedModel(services, grantOf(image))).toBeUndefined();
  });

  test("a grant is refused at once when its runner's token is revoked, and stays refused", async () => {
    const { world, image } = await granted();
    await grantedModel(services, grantOf(image));
    await revoke(world.runnerToken);
    const asked = vi.spyOn(env.DB, "prepare");
    for (let n = 0; n < 3; n++)
      expect(await grantedModel(services, grantOf(image))).toBeUndefined();
    // A refusal is cached as well.
    expect(asked).toHaveBeenCalledTimes(1);
  });

  test("a grant is refused within 10 s by an isolate that did not hear of the revocation", async () => {
    const { world, model_id, image } = await granted();
    forgetRunnerTokenChecks();
    await grantedModel(services, grantOf(image));
    await revokeInDatabase(world.runnerToken);
    expect(await grantedModel(services, grantOf(image))).toBe(model_id);
    advance(10.1);
    expect(await grantedModel(services, grantOf(image))).toBeUndefined();
  });

  test("a grant is not an access token, nor is a runner token a grant", async () => {
    const { world, image } = await granted();
    const headers = { authorization: `Bearer ${grantOf(image)}` };
    const response = await world.client.fetch("/v1/user", { headers });
    expect(response.status).toBe(401);
    expect(await grantedModel(services, world.runnerToken)).toBeUndefined();
  });
});
