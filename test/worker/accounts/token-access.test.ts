/** Tokens for some models: their access beside running. For all routes see visibility.test.ts. */
import { describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";
import { namesOf, newModel, pageAt, publish, referenceOf, walk } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { fileUrl, uploaded } from "../support/files.ts";
import { ALL } from "../support/openai.ts";
import { newClient, newWorld, unique } from "../support/world.ts";

const newCallable = async (client: Client): Promise<string> => {
  const reference = referenceOf(await newModel(client));
  await publish(client, reference, { compatibilities: ALL });
  return reference;
};

/** Makes an account with three models, and a token for two of them. */
async function newAccount() {
  const world = await newWorld({ compatibilities: ALL });
  const { client, username, model: other } = world;
  const [one, two] = [await newCallable(client), await newCallable(client)];
  const limited = await newClient(username, { models: [one, two] });
  const run = async (by: Client, model: string) => (await by.create({ model, input: {} })).body.id;
  return { client, username, limited, one, two, other, run };
}

const listed = async (client: Client, query = "") => {
  const pages = await walk<Prediction>(client, `/v1/predictions?page_size=5${query}`);
  return pages.flatMap(({ items }) => items.map(({ id }) => id));
};

describe("lists", () => {
  test("a limited token lists the predictions of its models, in order, with any filter", async () => {
    const { client, limited, one, two, other, run } = await newAccount();
    const theirs: string[] = [];
    const ofOne: string[] = [];
    for (const model of [one, other, two, two, other, one, two, one, other, two]) {
      const id = await run(client, model);
      if (model !== other) theirs.unshift(id);
      if (model === one) ofOne.unshift(id);
    }
    expect(await listed(limited)).toEqual(theirs);
    expect(await listed(limited, `&model=${one}`)).toEqual(ofOne);
    expect(await listed(limited, `&model=${other}`)).toEqual([]);
    await limited.cancel(ofOne[0] ?? "");
    const waiting = theirs.filter((id) => id !== ofOne[0]);
    await expect.poll(() => listed(limited, "&statuses=pending")).toEqual(waiting);
    expect(await listed(limited, `&model=${other}&statuses=pending`)).toEqual([]);
    expect(await listed(client)).toHaveLength(10);
  });

  test("a limited token lists no predictions of other models by a former name", async () => {
    const { client, limited, one, other, run } = await newAccount();
    const [mine, hidden] = [await run(client, one), await run(client, other)];
    const rename = (model: string) =>
      client.ok("PATCH", `/v1/models/${model}`, { name: unique("renamed") });
    await Promise.all([one, other].map(rename));
    expect(await listed(limited, `&model=${one}`)).toEqual([mine]);
    expect(await listed(limited, `&model=${other}`)).toEqual([]);
    expect(await listed(client, `&model=${other}`)).toEqual([hidden]);
  });

  test("a limited token lists only its own models, and its searches find only public ones", async () => {
    const { client, limited, one, two } = await newAccount();
    const names = namesOf(await pageAt<Model>(limited, "/v1/user/models"));
    expect(names).toEqual([two, one].map((reference) => reference.split("/")[1]));
    expect(namesOf(await pageAt<Model>(client, "/v1/user/models"))).toHaveLength(3);
    const search = async (by: Client, q: string) =>
      namesOf(await pageAt<Model>(by, `/v1/search/models?q=${q}`));
    expect(await search(client, names[0] ?? "")).toContain(names[0]);
    expect(await search(limited, names[0] ?? "")).toEqual([]);
  });
});

test("a limited token can read, cancel and delete all the account's predictions of its models", async () => {
  const { client, limited, one, other, run } = await newAccount();
  const at = (id: string) => `/v1/predictions/${id}`;
  const [mine, hidden] = [await run(client, one), await run(client, other)];
  // The second round has the prediction in the isolate's cache.
  for (const _ of [1, 2]) {
    expect((await limited.refused(`${at(hidden)}/cancel`, {})).body).toMatchObject({
      type: "urn:auspex:forbidden",
      detail: expect.stringMatching(
        `^This token is limited to .* and does not cover the prediction '${hidden}'`,
      ),
    });
  }
  expect(await limited.status(mine)).toBe("pending");
  expect(await limited.cancel(mine)).toBe(202);
  await limited.ok("DELETE", at(mine));
  expect((await limited.json("DELETE", at(hidden))).status).toBe(403);
  expect(await client.status(hidden)).toBe("pending");
});

test("a limited token cannot continue another model's response or refer to its items", async () => {
  const { client, limited, one, other } = await newAccount();
  const body = { model: other, input: "A secret", background: true };
  const { id } = await client
    .json<{ id: string }>("POST", "/v1/vendora/responses", body)
    .then((answer) => answer.body);
  const list = await client.ok<{ data: { id: string }[] }>(
    "GET",
    `/v1/vendora/responses/${id}/input_items`,
  );
  const reference = { type: "item_reference", id: list.data[0]?.id };
  const status = async (fields: object) =>
    (await limited.refused("/v1/vendora/responses", { model: one, input: "x", ...fields })).status;
  expect(await status({ previous_response_id: id, background: true })).toBe(403);
  expect(await status({ input: [reference], background: true })).toBe(403);
  expect(await status({ background: true })).toBe(202);
});

describe("files", () => {
  test("a limited token can read and use only uploads of its own", async () => {
    const { client, limited, one } = await newAccount();
    const [mine, hidden] = [await uploaded(limited), await uploaded(client)];
    const bare = ({ file_url }: { file_url: string | null }) =>
      (file_url ?? "").replace(/\?.*/, "");
    const status = (path: string) => limited.fetch(path).then((answer) => answer.status);
    expect(await status(mine.url)).toBe(200);
    expect(await status(hidden.url)).toBe(403);
    expect([await status(bare(mine)), await status(bare(hidden))]).toEqual([200, 403]);
    const run = async (file: string) =>
      (await limited.refused("/v1/predictions", { model: one, input: { file } })).status;
    expect([await run(mine.url), await run(bare(mine))]).toEqual([202, 202]);
    expect([await run(hidden.url), await run(bare(hidden))]).toEqual([403, 403]);
    // A signed address works for any token.
    expect(await run(fileUrl(hidden))).toBe(202);
    expect(await status(fileUrl(hidden))).toBe(200);
    // Tokens for all models have access to all uploads of the account.
    expect((await client.json("GET", mine.url)).status).toBe(200);
  });

  test("a limited token has access only to output files of its models", async () => {
    const { client, limited, one, other, run } = await newAccount();
    const status = async (model: string) => {
      const path = `/v1/files/${await run(client, model)}/made.png`;
      return (await limited.refused(`${path}/addresses`, {})).status;
    };
    expect([await status(one), await status(other)]).toEqual([404, 403]);
  });
});

test("an Idempotency-Key finds no prediction of a model that had the name before", async () => {
  const { client, limited, one, other } = await newAccount();
  const headers = { "idempotency-key": unique("key") };
  const { body } = await client.create({ model: other, input: {} }, headers);
  const [, name = ""] = other.split("/");
  await client.ok("PATCH", `/v1/models/${other}`, { name: unique("renamed") });
  await client.ok("PATCH", `/v1/models/${one}`, { name });
  const again = await limited.refused("/v1/predictions", { model: other, input: {} }, headers);
  expect(again.status).toBe(409);
  expect(JSON.stringify(again.body)).not.toContain(body.id);
});
