/** The cost of one small request of each endpoint: statements of D1, and calls of objects and R2. */
import { env } from "cloudflare:workers";
import { v7 as uuid } from "uuid";
import { afterEach, expect, test, vi } from "vitest";
import { sized } from "../../support/sized.ts";
import { newModel, publish, referenceOf, VERSION } from "../support/catalogue.ts";
import { callEndpoint, ENDPOINT_ACCESS } from "../support/endpoint-access.ts";
import {
  newConversation,
  newResponse,
  newUploads,
  newWebhooks,
} from "../support/endpoint-places.ts";
import { insertExample } from "../support/examples.ts";
import { beginUpload, fileUrl, uploaded } from "../support/files.ts";
import { Repository } from "../support/registry.ts";
import { FRAME } from "../support/short-runs.ts";
import { setVariable } from "../support/variables.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => vi.restoreAllMocks());

/** The largest cost is that of a first prediction, which makes what its account does not have yet. */
const MOST = 40;
const VARIABLE = "HF_TOKEN";

/** @returns how many statements, calls of objects and calls of R2 `act` causes */
async function counting(act: () => Promise<unknown>): Promise<number> {
  const spies = [
    vi.spyOn(env.DB, "prepare"),
    ...[env.ACCOUNT, env.CONVERSATION, env.POOL, env.PREDICTION, env.RUNNER].flatMap(
      (namespace) => [vi.spyOn(namespace, "get"), vi.spyOn(namespace, "getByName")],
    ),
    ...(["head", "get", "put", "list", "delete"] as const).flatMap((name) => [
      vi.spyOn(env.FILES, name),
      vi.spyOn(env.IMAGES, name),
    ]),
  ];
  await act();
  const count = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return count;
}

test("no endpoint calls the database and objects more often than a first prediction", async () => {
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
    const count = await counting(() =>
      callEndpoint(
        world.client,
        key,
        {
          ...place,
          ...(key.endsWith("/complete") ? whole : pending),
          prediction_id: key.endsWith("/examples") ? begun.id : prediction_id,
          model_name: isOfIdle ? idle.name : "story",
        },
        endpoint,
      ),
    );
    counted.push([key, count]);
  }
  expect(counted.filter(([, count]) => count > MOST)).toEqual([]);
});

/** At night an input names as many files as it may. */
const FILES = sized(30, 90);

const many = <T>(count: number, make: (n: number) => T) =>
  Array.from({ length: count }, (_, n) => make(n));

const LAYER = "application/vnd.oci.image.layer.v1.tar";
const INDEX = "application/vnd.oci.image.index.v1+json";

test("no request within its bounds calls the database and objects more than twice for each file that it names", async () => {
  const world = await newWorld({
    visibility: "public",
    compatibilities: { vendora_responses: true },
  });
  const { client, model, username } = world;
  const { channel } = await world.begun();
  const { conversation_id } = await newConversation(client);
  const uploads = await Promise.all(many(FILES, () => uploaded(client)));
  const pending = await Promise.all(many(FILES, () => beginUpload(client, 1)));
  const repository = new Repository(client, `${username}/story`);
  const { manifest, digest } = await repository.pushImage();
  const unknown = many(5_000, (n) => ({
    mediaType: LAYER,
    digest: `sha256:${n.toString(16).padStart(64, "0")}`,
    size: 1,
  }));
  const predict = (files: string[]) => client.post("/v1/predictions", { model, input: { files } });
  const weigh = (ids: { id: string }[]) => {
    const weights = ids.map(({ id }, n) => ({ file: `/v1/uploads/${id}`, target: `/w/${n}` }));
    return client.post(`/v1/models/${model}/versions`, { ...VERSION, configuration: { weights } });
  };
  const respond = (id: () => string) => {
    const input = many(200, () => ({ type: "item_reference", id: id() }));
    return client.post("/v1/vendora/responses", { model, background: true, input });
  };
  const named = many(2_000, () => ({
    event: "stored" as const,
    data: { name: crypto.randomUUID(), size: 1 },
  }));
  const requests: Record<string, () => Promise<unknown>> = {
    "uploads in an input": () => predict(uploads.map(fileUrl)),
    "unknown files in an input": () =>
      predict(many(FILES, () => `https://x.test/v1/files/${crypto.randomUUID()}/a`)),
    "weights of a version": () => weigh(uploads),
    "weights that are pending uploads": () => weigh(pending),
    "items of unknown responses": () => respond(() => `msg_${uuid()}_0`),
    "items with unknown names": () => respond(() => `msg_${crypto.randomUUID()}`),
    "items of a conversation": () =>
      client.post(`/v1/vendora/conversations/${conversation_id}/items`, {
        items: many(20, (n) => ({ role: "user", content: fileUrl(uploads[n] ?? expect.fail()) })),
      }),
    "ETags of an upload": () =>
      client.post(`/v1/uploads/${pending[0]?.id}/complete`, { etags: many(10_000, () => "x") }),
    "words of a search": () =>
      client.fetch(`/v1/search/models?q=${many(25, (n) => (n + 10).toString(36)).join("+")}`),
    "layers of a manifest": () =>
      repository.putManifest("x", JSON.stringify({ ...JSON.parse(manifest), layers: unknown })),
    "manifests of an index": () =>
      repository.putManifest(
        "x",
        JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: unknown }),
        INDEX,
      ),
    "tags of a manifest": () =>
      repository.putManifest(`${digest}?${many(50, (n) => `tag=t${n}`).join("&")}`, manifest),
    "an export": async () => (await client.fetch("/v1/user/export")).arrayBuffer(),
    "values that a runner never stored": () => {
      channel.send({ type: "events", seq: 1, events: named, finish: FRAME.finish });
      return channel.closed;
    },
  };
  const counted: [string, number][] = [];
  for (const [name, request] of Object.entries(requests))
    counted.push([name, await counting(request)]);
  expect(counted.filter(([, count]) => count > 2 * FILES + MOST)).toEqual([]);
}, 60_000);
