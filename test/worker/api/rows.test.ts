/** The rows with which tests begin, beside those that the API makes. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createUser, DIGEST, newWorld, operator, unique, type World } from "../support/world.ts";

const GIVEN = {
  input: { type: "object", properties: { prompt: { type: "string", nullable: true } } },
  configuration: { timeout_seconds: 60 },
  compatibilities: { vendora_chat_completions: true },
  visibility: "public" as const,
};

type Made = Pick<World, "username" | "user_id" | "hardware">;

async function madeByCalls(): Promise<Made> {
  const { visibility, input, ...version } = GIVEN;
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: hardware });
  const { username, user_id, client } = await createUser();
  const model = { name: "story", visibility, hardware_identifier: hardware };
  await client.ok("POST", "/v1/models", model);
  await client.ok("POST", `/v1/models/${username}/story/versions`, {
    ...{ ...version, release_notes: "", container_image_digest: DIGEST },
    schemas: { prediction: { input, output: {} } },
  });
  await operator.ok("POST", "/v1/operator/runner_tokens", { name: "test", hardware: [hardware] });
  return { username, user_id, hardware };
}

/** Columns that differ between two rows of the same calls. */
const OWN =
  /^(id|hash|prefix|seq|account_object|\w+_at|bytes_before|owner_id|user_id|model_id|rank)$/;

/** Returns all rows of a world by table, with `USER` and `HARDWARE` in place of its names. */
async function rowsOf({ username, user_id, hardware }: Made) {
  const ofUser = (where: string) => [where, user_id];
  const ofHardware = (where: string) => [where, hardware];
  const ofModel = ofUser("model_id IN (SELECT id FROM models WHERE owner_id = ?)");
  const wheres = {
    users: ofUser("id = ?"),
    usernames: ofUser("user_id = ?"),
    tokens: ofUser("user_id = ?"),
    account_bytes: ofUser("user_id = ?"),
    models: ofUser("owner_id = ?"),
    versions: ofModel,
    listings: ofModel,
    pools: ofHardware("name = ?"),
    hardware: ofHardware("identifier = ?"),
    runner_tokens: ofHardware("hardware = json_array(?)"),
  };
  const found = Object.entries(wheres).map(async ([table, [where, value]]) => {
    const statement = env.DB.prepare(`SELECT * FROM ${table} WHERE ${where}`);
    const { results } = await statement.bind(value).all();
    const kept = results.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !OWN.test(name))),
    );
    const text = JSON.stringify(kept).replaceAll(username, "USER").replaceAll(hardware, "HARDWARE");
    return [table, JSON.parse(text)];
  });
  return Object.fromEntries(await Promise.all(found));
}

test("a world has the rows that the calls of the API make", async () => {
  const world = await rowsOf(await newWorld(GIVEN));
  expect(world).toEqual(await rowsOf(await madeByCalls()));
  expect(world).toMatchObject({ versions: [{ number: 1 }], runner_tokens: [{ name: "test" }] });
});
