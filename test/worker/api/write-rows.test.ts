/** Rows of D1 that each route writes with its largest body, compared with those that it charges for. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ROWS_OF, WRITE_ROWS, type WriteRoute } from "../../../src/domain/accounts/write-rows.ts";
import type { Bindings } from "../../../src/env.ts";
import type { Example } from "../../../src/protocol/example.ts";
import { database } from "../../../src/storage/database.ts";
import { savePart } from "../../../src/storage/files/uploads.ts";
import { meteredDatabase } from "../../../src/storage/write-meter.ts";
import worker from "../../../src/worker.ts";
import { sized } from "../../support/sized.ts";
import { run } from "../support/accounts.ts";
import { newBudget } from "../support/budgets.ts";
import { newModel, pathOf, publish, referenceOf, VERSION } from "../support/catalogue.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { newDeployment } from "../support/deployments.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { newRunnable, newShownExample } from "../support/examples.ts";
import { beginUpload, MIB, PART, rowOfUpload, sendParts, uploaded } from "../support/files.ts";
import { digestOf, manifestOf, Repository, randomBytes } from "../support/registry.ts";
import { newUser, unique } from "../support/world.ts";

let rows = 0;
const counting: Bindings = Object.assign({}, env, {
  DB: meteredDatabase(env.DB, {
    wrote: (count) => {
      rows += count;
    },
    sending: async () => {},
  }),
});

/** A client whose requests count the rows that they write. */
class CountingClient extends Client {
  override async fetch(
    path: string,
    init: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, ...init.headers };
    const request = new Request(new URL(path, ORIGIN), { ...init, headers });
    return worker.fetch(request, counting, createExecutionContext());
  }
}

/** The characters of a model that the vocabulary has. */
const READ_CHARS = 1_000;
let from = 36 ** 2;
/** Returns `chars` characters that begin with words of three letters that no other text has. */
function freshWords(chars: number): string {
  const count = Math.ceil(Math.min(chars, READ_CHARS) / 4);
  const words = Array.from({ length: count }, () => (from++).toString(36)).join(" ");
  return words.padEnd(chars, " x").slice(0, chars);
}

const largeTexts = () => ({
  description: freshWords(1_000),
  overview: freshWords(100_000),
  category_slugs: ["chat", "code", "embeddings", "reranking", "vision", "ocr", "3d", "music"],
});

const { client: plain, username } = await newUser();
const client = new CountingClient(plain.token);
// The first use of a token writes a row.
await client.ok("GET", "/v1/user");

const WEIGHTS = 100;

const largestModel = () => newModel(plain, { visibility: "public", ...largeTexts() });

let weights: Promise<{ file: string; target: string }[]> | undefined;
/** Versions may have the same files, so these are uploaded once. */
async function withWeights() {
  weights ??= Promise.all(
    Array.from({ length: WEIGHTS }, async (_, n) => ({
      file: `/v1/uploads/${(await uploaded(plain)).id}`,
      target: `/weights/${n}`,
    })),
  );
  return { configuration: { weights: await weights } };
}

/** Gives a deployment as many releases as it may have: copies of its first. */
async function fillReleases(name: string, most: number): Promise<void> {
  const [first = {}] = await run(
    `SELECT r.* FROM releases r JOIN deployments d ON d.id = r.deployment_id
      WHERE d.name = ? AND r.number = 1`,
    name,
  );
  const names = Object.keys(first);
  const marks = names.map(() => "?").join();
  const copies = Array.from({ length: most - 1 }, (_, n) =>
    env.DB.prepare(`INSERT INTO releases (${names.join()}) VALUES (${marks})`).bind(
      ...Object.values({ ...first, number: n + 2 }),
    ),
  );
  await env.DB.batch(copies);
}

async function newExample() {
  const { path, reference, run } = await newRunnable({ client: plain });
  const at = `/v1${path}/examples`;
  const prediction_id = await run({}, () => "out");
  return { at, reference, prediction_id };
}

async function pinned() {
  const { at, prediction_id } = await newExample();
  const { id } = await plain.ok<Example>("POST", at, { prediction_id });
  return `${at}/${id}`;
}

const ROUTES = Object.keys(WRITE_ROWS).filter((name): name is WriteRoute => name in WRITE_ROWS);

/** Prepares each route and returns the request with its largest body. */
const LARGEST: Record<WriteRoute, () => Promise<() => Promise<unknown>>> = {
  createModel: async () => () => newModel(client, { visibility: "public", ...largeTexts() }),
  updateModel: async () => {
    const path = pathOf(await largestModel());
    return () => client.ok("PATCH", path, { name: unique("renamed"), ...largeTexts() });
  },
  deleteModel: async () => {
    const model = await largestModel();
    await publish(plain, referenceOf(model));
    return () => client.ok("DELETE", pathOf(model));
  },
  createVersion: async () => {
    const model = await newModel(plain);
    const body = { ...VERSION, ...(await withWeights()) };
    return () => client.ok("POST", `${pathOf(model)}/versions`, body);
  },
  deleteVersion: async () => {
    const model = await newModel(plain);
    await publish(plain, referenceOf(model), await withWeights());
    return () => client.ok("DELETE", `${pathOf(model)}/versions/1`);
  },
  setVersionPrices: async () => {
    const model = await newModel(plain);
    await publish(plain, referenceOf(model));
    const path = `${pathOf(model)}/versions/1/prices`;
    return () => client.ok("PUT", path, { prices: { per_run: 1, per_second: 1 } });
  },
  setVariable: async () => {
    const path = pathOf(await newModel(plain));
    return () => client.ok("PUT", `${path}/variables/KEY`, { value: "x".repeat(32_768) });
  },
  deleteVariable: async () => {
    const path = pathOf(await newModel(plain));
    await plain.ok("PUT", `${path}/variables/KEY`, { value: "x" });
    return () => client.ok("DELETE", `${path}/variables/KEY`);
  },
  changeDeployment: async () => {
    const model = await newModel(plain);
    await publish(plain, referenceOf(model));
    const { name } = await newDeployment(plain, { model: referenceOf(model) });
    await fillReleases(name, 100);
    return () => client.ok("DELETE", `/v1/deployments/${username}/${name}`);
  },
  pinExample: async () => {
    const { at, prediction_id } = await newExample();
    return () => client.ok("POST", at, { prediction_id });
  },
  updateExample: async () => {
    const { owner, name, example } = await newShownExample({ client: plain });
    const at = `/v1/models/${owner}/${name}/examples/${example}`;
    return () => client.ok("PATCH", at, { position: 1, is_cover: true });
  },
  unpinExample: async () => {
    const at = await pinned();
    return () => client.ok("DELETE", at);
  },
  createUpload: async () => () => beginUpload(client, 10_000 * 16 * MIB, { name: "n".repeat(255) }),
  completeUpload: async () => {
    const begun = await beginUpload(plain, 7);
    const etags = await sendParts(begun, new TextEncoder().encode("content"));
    return () => client.ok("POST", `/v1/uploads/${begun.id}/complete`, { etags });
  },
  deleteUpload: async () => {
    const { id } = await uploaded(plain);
    return () => client.ok("DELETE", `/v1/uploads/${id}`);
  },
  putPart: async () => {
    const { urls } = await beginUpload(plain, 7);
    const url = urls[0] ?? expect.fail();
    return () =>
      client.fetch(url, {
        method: "PUT",
        body: "content",
        headers: { "content-length": "7" },
      });
  },
  changeOrganization: async () => {
    const username = unique("org");
    return () => client.ok("POST", "/v1/organizations", { username, name: "n".repeat(100) });
  },
  shareModel: async () => {
    const { name } = await newModel(client);
    const { username: account } = await newUser();
    const path = `/v1/models/${username}/${name}/collaborators/${account}`;
    return () => client.ok("PUT", path, { level: "write" });
  },
  updateOwnUser: async () => {
    await plain.ok("PATCH", "/v1/user", { name: freshWords(100), company: freshWords(100) });
    const urls = Array.from({ length: 20 }, (_, n) => `https://example.com/${n}`);
    const texts = { name: freshWords(100), company: freshWords(100), location: "x".repeat(100) };
    return () => client.ok("PATCH", "/v1/user", { bio: "x".repeat(1_000), urls, ...texts });
  },
  changeBudget: async () => () => newBudget(client, { limit: "1" }),
  changeWebhookEndpoint: async () => () => newEndpoint(client),
  pushImage: async () => {
    const repository = new Repository(plain, `${username}/${unique("image")}`);
    const blob = crypto.getRandomValues(new Uint8Array(1_000));
    const location = await repository.begin();
    return () => new Repository(client, repository.name).finish(location, digestOf(blob), blob);
  },
};

test.each(ROUTES)("%s writes at most the rows that it charges", async (route) => {
  const act = await LARGEST[route]();
  rows = 0;
  await act();
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(WRITE_ROWS[route]);
});

const ITEMS = sized(5, 20);

/** Rows that depend on a number of items: returns that number, the route and the request. */
const MANY: Record<
  keyof typeof ROWS_OF,
  () => Promise<[number, WriteRoute, () => Promise<unknown>]>
> = {
  manifestEntry: async () => {
    const repository = new Repository(plain, `${username}/${unique("image")}`);
    const layers = Array.from({ length: ITEMS }, () => randomBytes(100));
    const config = randomBytes(100);
    for (const blob of [config, ...layers]) await repository.push(blob);
    const pushing = new Repository(client, repository.name);
    return [
      ITEMS + 1,
      "pushImage",
      () => pushing.putManifest("latest", manifestOf(config, layers)),
    ];
  },
  tag: async () => {
    const repository = new Repository(plain, `${username}/${unique("image")}`);
    const { manifest, digest } = await repository.pushImage();
    const tags = Array.from({ length: 50 }, (_, n) => `tag=t${n}`).join("&");
    const pushing = new Repository(client, repository.name);
    return [50, "pushImage", () => pushing.putManifest(`${digest}?${tags}`, manifest)];
  },
  part: async () => {
    const { urls, id } = await beginUpload(plain, ITEMS * PART);
    const key = (await rowOfUpload(id)).key;
    expect(urls).toHaveLength(ITEMS);
    for (let part_number = 1; part_number <= ITEMS; part_number++)
      await savePart(database(env.DB), { upload_id: id, part_number, etag: key, utf8_edges: null });
    return [ITEMS, "deleteUpload", () => client.ok("DELETE", `/v1/uploads/${id}`)];
  },
  version: async () => {
    const model = await newModel(plain);
    for (let n = 0; n < ITEMS; n++) await publish(plain, referenceOf(model));
    return [ITEMS, "deleteModel", () => client.ok("DELETE", pathOf(model))];
  },
  renamedModel: async () => {
    const { client: other } = await newUser();
    for (let n = 0; n < ITEMS; n++) await newModel(other, { visibility: "public" });
    const renaming = new CountingClient(other.token);
    await renaming.ok("GET", "/v1/user");
    const body = { username: unique("renamed") };
    return [ITEMS, "updateOwnUser", () => renaming.ok("PATCH", "/v1/user", body)];
  },
  namedFile: async () => {
    const model = await newModel(plain);
    await publish(plain, referenceOf(model));
    const files = await Promise.all(
      Array.from(
        { length: ITEMS },
        async () => `${ORIGIN}/v1/uploads/${(await uploaded(plain)).id}`,
      ),
    );
    const creating = () => client.create({ model: referenceOf(model), input: { files } });
    return [ITEMS, "putPart", creating];
  },
};

const KINDS = Object.keys(ROWS_OF).filter((name): name is keyof typeof ROWS_OF => name in ROWS_OF);

test.each(KINDS)("many items, each a %s, write at most the rows that they charge", async (kind) => {
  const [count, route, act] = await MANY[kind]();
  rows = 0;
  await act();
  expect(rows).toBeGreaterThan(count);
  expect(rows).toBeLessThanOrEqual(WRITE_ROWS[route] + count * ROWS_OF[kind]);
});
