/** Operator settings: hardware, categories and tokens. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Hardware } from "../../../src/protocol/hardware.ts";
import type { Category } from "../../../src/protocol/model.ts";
import type { RunnerToken, Token } from "../../../src/protocol/operator.ts";
import { newModel, pageAt, pathOf, publish, referenceOf } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newRunnerToken, newUser, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const nobody = new Client(undefined);
const put = <Body>(path: string, body: object) =>
  operator.ok<Body>("PUT", `/v1/operator/${path}`, body);
const statusOf = async (method: "DELETE", path: string) =>
  (await operator.json(method, `/v1/operator/${path}`)).status;

async function find<Item>(list: string, wanted: (item: Item) => boolean): Promise<Item[]> {
  return (await pageAt<Item>(nobody, `${list}?page_size=50`)).items.filter(wanted);
}

describe("hardware", () => {
  const listed = (identifier: string) =>
    find<Hardware>("/v1/hardware", (item) => item.identifier === identifier);

  test("hardware is made with defaults, and replaced as a whole except created_at", async () => {
    const identifier = unique("hw");
    const created_at = new Date().toISOString();
    const plain = { gpus: 0, cpus: 1, ram_per_gpu_gb: 0, ram_gb: 0, price_per_hour: null };
    const location_hint = null;
    const own = { identifier, pool: identifier, currency: "USD" };
    const made = await put<Hardware>(`hardware/${identifier}`, { name: "Box" });
    expect(made).toEqual({ ...own, name: "Box", ...plain, location_hint, created_at });
    advance(60);
    const given = {
      name: "NVIDIA L40S",
      gpus: 2,
      cpus: 16,
      ram_per_gpu_gb: 48,
      ram_gb: 128.5,
      price_per_hour: "0.8",
    };
    const changed = { ...own, ...given, location_hint, created_at };
    expect(await put(`hardware/${identifier}`, given)).toEqual(changed);
    expect(await listed(identifier)).toEqual([changed]);
    const again = await put<Hardware>(`hardware/${identifier}`, { name: "Box" });
    expect(again).toEqual({ ...changed, name: "Box", ...plain });
  });

  test("hardware cannot be deleted while a model or a version names it", async () => {
    const identifier = unique("hw");
    await put(`hardware/${identifier}`, { name: "Box" });
    const { client } = await newUser();
    const model = await newModel(client, { hardware_identifier: identifier });
    const configuration = { hardware_identifier: identifier };
    await publish(client, referenceOf(model), { configuration });
    expect(await statusOf("DELETE", `hardware/${identifier}`)).toBe(409);
    await client.ok("PATCH", pathOf(model), { hardware_identifier: null });
    expect(await statusOf("DELETE", `hardware/${identifier}`)).toBe(409);
    await client.ok("DELETE", `${pathOf(model)}/versions/1`);
    expect(await statusOf("DELETE", `hardware/${identifier}`)).toBe(200);
    expect(await listed(identifier)).toEqual([]);
    expect(await statusOf("DELETE", `hardware/${identifier}`)).toBe(404);
  });

  test("the hardware cpu exists from the beginning, and cannot be deleted", async () => {
    expect(await statusOf("DELETE", "hardware/cpu")).toBe(409);
    expect(await listed("cpu")).toMatchObject([{ identifier: "cpu", gpus: 0 }]);
  });
});

describe("a category", () => {
  const listed = (slug: string) =>
    find<Category>("/v1/model_categories", (item) => item.slug === slug);

  test("a category is made, renamed in its models, and deleted", async () => {
    const slug = unique("c");
    expect(await put(`categories/${slug}`, { name: "Wether" })).toEqual({
      name: "Wether",
      slug,
      description: "",
    });
    const { client } = await newUser();
    const model = await newModel(client, { category_slugs: [slug] });
    const weather = { name: "Weather", slug, description: "Forecasts" };
    expect(await put(`categories/${slug}`, weather)).toEqual(weather);
    expect(await listed(slug)).toEqual([weather]);
    const { categories } = await client.ok<typeof model>("GET", pathOf(model));
    expect(categories).toEqual([{ name: "Weather", slug }]);
    expect(await statusOf("DELETE", `categories/${slug}`)).toBe(200);
    expect(await listed(slug)).toEqual([]);
    expect(await statusOf("DELETE", `categories/${slug}`)).toBe(404);
  });

  test("categories are listed by slug, with a set that exists from the beginning", async () => {
    const { items } = await pageAt<Category>(nobody, "/v1/model_categories?page_size=50");
    const slugs = items.map(({ slug }) => slug);
    expect(slugs).toEqual(slugs.toSorted());
    expect(slugs).toEqual(expect.arrayContaining(["chat", "embeddings", "image-generation"]));
  });
});

describe("tokens", () => {
  test("tokens of a user are listed without their secret, and refused 10 s after they are revoked", async () => {
    const { client, username } = await newUser();
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const tokens = `/v1/operator/users/${username}/tokens`;
    const request = { name: "laptop", scopes: ["read"], expires_at };
    const { id, token } = await operator.ok<{ id: string; token: string }>("POST", tokens, request);
    const { items } = await pageAt<Token>(operator, tokens);
    expect(items).toHaveLength(2);
    const created_at = new Date().toISOString();
    const unused = { models: null, limits: null, priority: null, last_used_at: null };
    expect(items[0]).toEqual({ id, prefix: token.slice(0, 10), created_at, ...unused, ...request });
    expect(items[1]).toMatchObject({ scopes: ["read", "write", "predict"], expires_at: null });
    const laptop = new Client(token);
    await laptop.ok("GET", "/v1/user");
    expect(await statusOf("DELETE", `tokens/${id}`)).toBe(200);
    expect((await pageAt<Token>(operator, tokens)).items).toEqual([items[1]]);
    advance(10.1);
    expect((await laptop.json("GET", "/v1/user")).status).toBe(401);
    await client.ok("GET", "/v1/user");
    expect(await statusOf("DELETE", `tokens/${id}`)).toBe(404);
  });

  test("runner tokens are listed without their secret, and can be revoked", async () => {
    const hardware = unique("hw");
    await put(`hardware/${hardware}`, { name: "Box" });
    const token = await newRunnerToken(hardware);
    const list = async () =>
      (await pageAt<RunnerToken>(operator, "/v1/operator/runner_tokens")).items;
    const [newest] = await list();
    const created_at = new Date().toISOString();
    const prefix = token.slice(0, 11);
    const shown = { name: "test", prefix, hardware: [hardware], created_at, last_used_at: null };
    expect(newest).toEqual({ id: expect.any(String), ...shown });
    expect(await statusOf("DELETE", `runner_tokens/${newest?.id}`)).toBe(200);
    expect(await list()).not.toContainEqual(newest);
    expect(await statusOf("DELETE", `runner_tokens/${newest?.id}`)).toBe(404);
  });

  test("runner tokens need existing hardware", async () => {
    const [first, second] = [unique("hw"), unique("hw")];
    const request = { name: "rack", hardware: [first, "cpu", second] };
    const { status, body } = await operator.refused("/v1/operator/runner_tokens", request);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { loc: ["body", "hardware", "0"], msg: expect.stringContaining(first) },
      { loc: ["body", "hardware", "2"], msg: expect.stringContaining(second) },
    ]);
  });

  test("tokens with a past expires_at or of an unknown user are refused", async () => {
    const { username } = await newUser();
    const post = (name: string, body: object) =>
      operator.refused(`/v1/operator/users/${name}/tokens`, { name: "x", ...body });
    const late = await post(username, { expires_at: new Date(Date.now() - 1).toISOString() });
    expect(late.status).toBe(422);
    expect(late.body.detail).toMatchObject([{ loc: ["body", "expires_at"] }]);
    expect((await post("nobody-at-all", {})).status).toBe(404);
  });
});
