/** The limits of models, versions and usernames of an account. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import worker from "../../../src/worker.ts";
import { newModel, pageAt, pathOf, publish, VERSION } from "../support/catalogue.ts";
import { type Client, ORIGIN, type Refusal } from "../support/client.ts";
import { newUser, operator, unique } from "../support/world.ts";

/** Posts to a deployment where an account may have three models, and a model three versions. */
async function post({ token }: Client, path: string, body: object) {
  const request = new Request(`${ORIGIN}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const bindings = Object.assign({}, env, { MAX_MODELS: "3", MAX_VERSIONS: "3" });
  const response = await worker.fetch(request, bindings, createExecutionContext());
  return { status: response.status, body: await response.json<Refusal>() };
}

/** Makes five calls at once. Returns their statuses. */
async function statusesOf(call: () => Promise<{ status: number }>): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: 5 }, call));
  return answers.map(({ status }) => status).sort();
}

const full = (variable: string) => ({
  status: 409,
  body: { detail: expect.stringMatching(new RegExp(`\\b3\\b.*${variable}`)) },
});

describe("the models of an account", () => {
  const create = (client: Client, fields: object = {}) =>
    post(client, "/v1/models", { name: unique("model"), category_slugs: ["chat"], ...fields });

  test("an account has at most MAX_MODELS models, also if more creates come at once", async () => {
    const { client } = await newUser();
    expect(await statusesOf(() => create(client))).toEqual([200, 200, 200, 409, 409]);
    expect((await pageAt<Model>(client, "/v1/user/models")).items).toHaveLength(3);
    expect(await create(client)).toMatchObject(full("MAX_MODELS"));
  });

  test("a deleted model and those of other accounts do not count towards MAX_MODELS", async () => {
    const [{ client }, { client: other }] = [await newUser(), await newUser()];
    const [first] = [await newModel(client), await newModel(client), await newModel(client)];
    expect((await create(client)).status).toBe(409);
    expect((await create(other)).status).toBe(200);
    await client.ok("DELETE", pathOf(first));
    expect((await create(client)).status).toBe(200);
  });

  test("models of an account at its limit can still be changed", async () => {
    const { client } = await newUser();
    const [first] = [await newModel(client), await newModel(client), await newModel(client)];
    const changes = { description: "Another", category_slugs: ["ocr"] };
    expect(await client.ok("PATCH", pathOf(first), changes)).toMatchObject({
      description: "Another",
      categories: [{ slug: "ocr" }],
    });
  });
});

describe("the versions of a model", () => {
  test("a model has at most MAX_VERSIONS versions, also if more are published at once", async () => {
    const { client } = await newUser();
    const versions = `${pathOf(await newModel(client))}/versions`;
    const publish = () => post(client, versions, VERSION);
    expect(await statusesOf(publish)).toEqual([200, 200, 200, 409, 409]);
    expect(await publish()).toMatchObject(full("MAX_VERSIONS"));
    expect((await pageAt(client, versions)).items).toHaveLength(3);
  });

  test("deleted versions and those of other models do not count towards MAX_VERSIONS", async () => {
    const { client } = await newUser();
    const [versions = "", others = ""] = [await newModel(client), await newModel(client)].map(
      (model) => `${pathOf(model)}/versions`,
    );
    for (const _ of [1, 2, 3]) await client.ok("POST", versions, VERSION);
    expect((await post(client, versions, VERSION)).status).toBe(409);
    expect((await post(client, others, VERSION)).status).toBe(200);
    for (const number of [2, 3]) await client.ok("DELETE", `${versions}/${number}`);
    expect(await post(client, versions, VERSION)).toMatchObject({
      status: 200,
      body: { number: 4 },
    });
  });
});

describe("the usernames of an account", () => {
  const rename = (client: Client, username: string) =>
    client.json<Refusal>("PATCH", "/v1/user", { username });

  /** Makes a user who has had five names. Returns them in order. */
  async function newWanderer() {
    const { client, username } = await newUser();
    const names = [username, ...Array.from({ length: 4 }, () => unique("renamed"))];
    for (const name of names) expect((await rename(client, name)).status).toBe(200);
    return { client, names };
  }

  test("an account may have five usernames, former ones included, and can return to each", async () => {
    const { client, names } = await newWanderer();
    const sixth = await rename(client, unique("renamed"));
    expect(sixth).toMatchObject({ status: 409, body: { detail: expect.stringContaining("5") } });
    expect(await client.ok("GET", "/v1/user")).toMatchObject({ username: names.at(-1) });
    for (const name of names) expect((await rename(client, name)).status).toBe(200);
    expect((await rename(client, unique("renamed"))).status).toBe(409);
    await client.ok("PATCH", "/v1/user", { username: names.at(-1), name: "Ada" });
    await client.ok("PATCH", "/v1/user", { company: "Engines" });
  });

  test("an account may have five usernames, also if more renames come at once", async () => {
    const { client } = await newUser();
    const statuses = await statusesOf(() => rename(client, unique("renamed")));
    expect(statuses).toEqual([200, 200, 200, 200, 409]);
  });

  test("a former username that the operator releases can be taken by any user", async () => {
    const { client, names } = await newWanderer();
    const [first = "", second = ""] = names;
    const { client: other, username: others } = await newUser();
    expect((await rename(other, first)).status).toBe(409);
    const release = (username: string) =>
      operator.json("DELETE", `/v1/operator/usernames/${username}`);
    expect(await release(first)).toMatchObject({ status: 200, body: {} });
    expect((await release(first)).status).toBe(404);
    expect((await rename(other, first)).status).toBe(200);
    expect((await rename(client, first)).status).toBe(409);
    expect((await rename(client, unique("renamed"))).status).toBe(200);
    expect((await release(others)).status).toBe(200);
    for (const present of [first, unique("nobody")])
      expect((await release(present)).status).toBe(present === first ? 409 : 404);
    expect((await rename(client, second)).status).toBe(200);
  });

  test("a former username's images are not accessible to its next user", async () => {
    const { client, username: ada } = await newUser();
    const model = { name: "story" };
    await client.ok("POST", "/v1/models", model);
    await publish(client, `${ada}/story`);
    await rename(client, unique("renamed"));
    await operator.ok("DELETE", `/v1/operator/usernames/${ada}`);
    const { client: next } = await newUser();
    await rename(next, ada);
    await next.ok("POST", "/v1/models", model);
    await publish(next, `${ada}/story`);
    const registry = env.IMAGE_REGISTRY;
    const { results } = await env.DB.prepare(
      "SELECT repository FROM versions WHERE repository LIKE ? ORDER BY repository",
    )
      .bind(`${registry}/${ada}/%`)
      .all();
    expect(results).toEqual([
      { repository: `${registry}/${ada}/2/story` },
      { repository: `${registry}/${ada}/story` },
    ]);
    const refused = await next.json<{ detail: { msg: string }[] }>(
      "POST",
      `/v1/models/${ada}/story/versions`,
      { ...VERSION, configuration: { image: `${registry}/${ada}/story` } },
    );
    expect([refused.status, refused.body.detail[0]?.msg]).toEqual([
      422,
      expect.stringContaining(`not below ${registry}/${ada}/2/`),
    ]);
  });
});
