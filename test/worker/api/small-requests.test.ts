/** What one small request of each endpoint may cost: statements of D1, and calls of objects. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import {
  callEndpoint,
  ENDPOINT_ACCESS,
  newConversation,
  newResponse,
  newUploads,
  newWebhooks,
} from "../support/endpoint-access.ts";
import { insertExample } from "../support/examples.ts";
import { setVariable } from "../support/variables.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => vi.restoreAllMocks());

/** The largest is that of a first prediction, which makes what its account does not have yet. */
const MOST = 40;
const VARIABLE = "HF_TOKEN";

test("no endpoint asks the database and objects more often than a first prediction", async () => {
  const world = await newWorld({
    visibility: "public",
    compatibilities: { vendora_responses: true },
  });
  const { username } = world;
  const begun = await world.begun();
  await begun.channel.succeed("out");
  begun.channel.close();
  const prediction_id = await world.waiting();
  const idle = await newModel(world.client, { visibility: "public" });
  await publish(world.client, referenceOf(idle));
  await setVariable(world.client, referenceOf(idle), VARIABLE);
  const place = {
    username,
    model_owner: username,
    version_number: "1",
    variable_name: VARIABLE,
    example_id: await insertExample(idle.id),
    ...(await newResponse(world.client, world.model)),
    ...(await newConversation(world.client)),
    ...(await newWebhooks(world.client, world.model)),
  };
  const { pending, whole } = await newUploads(world.client);
  const counted: [string, number][] = [];
  for (const [key, endpoint] of Object.entries(ENDPOINT_ACCESS)) {
    const isOfIdle = key.startsWith("DELETE") || key.includes("example_id");
    const spies = [
      vi.spyOn(env.DB, "prepare"),
      ...[env.ACCOUNT, env.CONVERSATION, env.POOL, env.PREDICTION, env.RUNNER].flatMap(
        (namespace) => [vi.spyOn(namespace, "get"), vi.spyOn(namespace, "getByName")],
      ),
    ];
    await callEndpoint(
      world.client,
      key,
      {
        ...place,
        ...(key.endsWith("/complete") ? whole : pending),
        prediction_id: key.endsWith("/examples") ? begun.id : prediction_id,
        model_name: isOfIdle ? idle.name : "story",
      },
      endpoint,
    );
    counted.push([key, spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)]);
    for (const spy of spies) spy.mockRestore();
  }
  expect(counted.filter(([, count]) => count > MOST)).toEqual([]);
});
