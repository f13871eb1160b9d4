/**
 * The places where objects are made and found, with a jurisdiction and without. workerd implements none, so
 * the namespaces are fakes that record which place each call would have reached.
 */
import { describe, expect, test } from "vitest";
import { type Bindings, settings } from "../../src/env.ts";
import { accountAt, newAccountObjectId } from "../../src/objects/stubs/account.ts";
import { claimJobs, poolOf } from "../../src/objects/stubs/pool.ts";
import {
  newPredictionId,
  predictionAt,
  predictionWithId,
  renewed,
} from "../../src/objects/stubs/prediction.ts";
import { runnerAt } from "../../src/objects/stubs/runner.ts";

/** Returns a namespace whose IDs and stubs have the name of their place. */
function namespace(place: string, reached: string[]): object {
  const stub = (id: string) => ({
    id,
    async fetch() {
      reached.push(id);
      return Response.json(null);
    },
  });
  return {
    newUniqueId: () => `${place}/new`,
    idFromString: (id: string) => id,
    get: (id: string) => stub(`${place} finds ${id}`),
    getByName: (name: string) => stub(`${place}/${name}`),
    jurisdiction: (name: string) => namespace(`${place} in ${name}`, reached),
  };
}

/** @param variables as in wrangler.toml */
function bindings(variables: { JURISDICTION?: string }) {
  const reached: string[] = [];
  const [PREDICTION, ACCOUNT, POOL, RUNNER] = ["predictions", "accounts", "pools", "runners"].map(
    (place) => namespace(place, reached),
  );
  const required = { IMAGE_REGISTRY: "registry.example.com", SECRET_KEY: "k".repeat(32) };
  const all: unknown = { ...required, ...variables, PREDICTION, ACCOUNT, POOL, RUNNER };
  return { env: all as Bindings, reached };
}

/** Returns new IDs and names as text. */
async function made(variables: { JURISDICTION?: string }) {
  const { env, reached } = bindings(variables);
  await runnerAt(env, "7").getPresence();
  const claim = { pool: "l40s" } as Parameters<typeof claimJobs>[1];
  await claimJobs(env, claim, new AbortController().signal);
  return {
    account: newAccountObjectId(env),
    prediction: String(newPredictionId(env)),
    pool: String(poolOf(env, "l40s").id),
    reached,
  };
}

describe.each([{}, { JURISDICTION: "" }])("without a jurisdiction: %o", (variables) => {
  test("objects are made in the namespaces themselves", async () => {
    expect(await made(variables)).toEqual({
      account: "accounts/new",
      prediction: "predictions/new",
      pool: "pools/l40s",
      reached: ["runners/7", "pools/l40s"],
    });
  });
});

describe.each(["eu", "us", "fedramp", "fedramp-high"])("with the jurisdiction %s", (name) => {
  test("objects are made in the jurisdiction, and pools and runners are found there", async () => {
    expect(await made({ JURISDICTION: name })).toEqual({
      account: `accounts in ${name}/new`,
      prediction: `predictions in ${name}/new`,
      pool: `pools in ${name}/l40s`,
      reached: [`runners in ${name}/7`, `pools in ${name}/l40s`],
    });
  });

  test("an ID of any other jurisdiction is found, because the namespace without one accepts all", () => {
    const { env } = bindings({ JURISDICTION: name });
    expect(String(accountAt(env, "of old").id)).toBe("accounts finds of old");
    const found = predictionWithId(env, "of old") ?? expect.fail("it is not found");
    expect(String(found.id)).toBe("predictions finds of old");
    expect(String(predictionAt(env, newPredictionId(env)).id)).toBe(
      `predictions finds predictions in ${name}/new`,
    );
    expect(String(renewed(env, found).id)).toMatch(/^predictions finds /);
  });
});

test.each(["EU", "europe", "anywhere", " "])(
  "the jurisdiction %o is refused, and the error lists the valid ones",
  (name) => {
    expect(() => settings(bindings({ JURISDICTION: name }).env)).toThrow(
      /expected one of ""\|"eu"\|"fedramp"\|"fedramp-high"\|"us"\s.*JURISDICTION/,
    );
  },
);
