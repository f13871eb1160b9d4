/** Models: creating and changing them, and their short and detailed forms. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { newModel, pageAt, pathOf, publish, referenceOf } from "../support/catalogue.ts";
import { Client, type Refusal } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const { client, user_id, username } = await newUser();
const hardware = unique("hw");
await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: "Sixteen of them" });

const FILLED = {
  description: "Continues a story",
  overview: "# Story\n\nOnce upon a time 🐉",
  source_url: "https://example.com/source",
  license_url: "http://example.com/licence",
  paper_url: "https://example.com/paper?a=b",
  cover_image_url: "https://example.com/cover.png",
};

/** The fields of the documentation's tables. */
const LIST_FORM = [
  "categories",
  "cover_image_url",
  "created_at",
  "description",
  "id",
  "name",
  "owner",
  "predictions_count",
  "updated_at",
  "visibility",
];
const DETAILED_FORM = [
  ...LIST_FORM,
  "hardware",
  "default_version",
  "latest_version",
  "license_url",
  "overview",
  "paper_url",
  "source_url",
].sort();

const keysOf = (value: object | undefined) => Object.keys(value ?? {}).sort();
const get = (model: Model) => client.ok<Model>("GET", pathOf(model));
const change = (model: Model, changes: object) => client.ok<Model>("PATCH", pathOf(model), changes);
const refused = (model: Model, changes: object) =>
  client.json<Refusal>("PATCH", pathOf(model), changes);

describe("creating", () => {
  test("a create needs only a name, and all other fields have a default", async () => {
    const name = unique("model");
    const now = new Date().toISOString();
    const made = await client.ok<Model>("POST", "/v1/models", { name });
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name,
      created_at: now,
      updated_at: now,
      visibility: "private",
      description: "",
      owner: { id: user_id, username, avatar_url: "", kind: "user" },
      predictions_count: 0,
      categories: [],
      cover_image_url: null,
      source_url: null,
      license_url: null,
      paper_url: null,
      overview: "",
      hardware: null,
      latest_version: null,
      default_version: null,
    });
    expect(await get(made)).toEqual(made);
  });

  test("a create takes every field", async () => {
    const made = await newModel(client, {
      ...FILLED,
      visibility: "restricted",
      category_slugs: ["vision", "chat", "vision"],
      hardware_identifier: hardware,
    });
    expect(made).toMatchObject({
      ...FILLED,
      visibility: "restricted",
      categories: [
        { name: "Chat", slug: "chat" },
        { name: "Vision", slug: "vision" },
      ],
      hardware: { identifier: hardware, name: "Sixteen of them" },
    });
    expect(await get(made)).toEqual(made);
  });

  test("a model's name is unique for its owner, and free for other owners", async () => {
    const { name } = await newModel(client);
    const { status, body } = await client.refused("/v1/models", { name });
    expect(status).toBe(409);
    expect(body.detail).toContain(name);
    const { client: other } = await newUser();
    expect(await newModel(other, { name })).toMatchObject({ name });
    const wanted = unique("wanted");
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => client.refused("/v1/models", { name: wanted })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
  });

  test("a create with unknown categories or hardware names each of them, and makes nothing", async () => {
    const name = unique("model");
    const { status, body } = await client.refused("/v1/models", {
      name,
      category_slugs: ["chat", "no-such", "vision", "nor-this"],
      hardware_identifier: "nothing",
    });
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { loc: ["body", "category_slugs", "1"] },
      { loc: ["body", "category_slugs", "3"] },
      { loc: ["body", "hardware_identifier"] },
    ]);
    expect((await client.json("GET", `/v1/models/${username}/${name}`)).status).toBe(404);
  });

  test.each([
    ["name", undefined],
    ["name", "No Slug"],
    ["visibility", "secret"],
    ["description", "x".repeat(1_001)],
    ["overview", "x".repeat(100_001)],
    ["source_url", "ftp://example.com"],
    ["paper_url", "no address"],
    ["cover_image_url", "javascript:alert(1)"],
    ["category_slugs", Array(21).fill("chat")],
    ["category_slugs", "chat"],
    ["hardware_identifier", ""],
  ])("a model's %s cannot be %j", async (field, value) => {
    const body = { name: unique("model"), [field]: value };
    const answer = await client.refused("/v1/models", body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject({ 0: { loc: ["body", field] } });
  });
});

describe("changing", () => {
  test.each(Object.entries({ ...FILLED, visibility: "public" }))(
    "a change of %s changes no other field",
    async (field, value) => {
      const before = await newModel(client, { category_slugs: ["chat"] });
      advance(5);
      const after = await change(before, { [field]: value });
      const updated_at = new Date().toISOString();
      expect(after).toEqual({ ...before, [field]: value, updated_at });
      expect(await get(before)).toEqual(after);
    },
  );

  test.each(["source_url", "license_url", "paper_url", "cover_image_url"])(
    "a change to null clears %s",
    async (field) => {
      const before = await newModel(client, FILLED);
      expect(await change(before, { [field]: null })).toEqual({ ...before, [field]: null });
    },
  );

  test("a model's hardware can be set, and removed with null", async () => {
    const model = await newModel(client);
    const named = await change(model, { hardware_identifier: hardware });
    expect(named.hardware).toEqual({ identifier: hardware, name: "Sixteen of them" });
    expect(await change(model, { hardware_identifier: null })).toMatchObject({ hardware: null });
    for (const hardware_identifier of ["", "nothing"]) {
      const { status, body } = await refused(model, { hardware_identifier });
      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ loc: ["body", "hardware_identifier"] }]);
    }
  });

  test("a model's categories are replaced as a whole, and sorted by name", async () => {
    const model = await newModel(client, { category_slugs: ["vision", "chat"] });
    const slugs = async (category_slugs?: string[]) =>
      (
        await change(model, { description: "", ...(category_slugs && { category_slugs }) })
      ).categories.map(({ slug }) => slug);
    expect(await slugs()).toEqual(["chat", "vision"]);
    expect(await slugs(["3d", "vision", "ocr", "ocr"])).toEqual(["3d", "ocr", "vision"]);
    const { status } = await refused(model, { category_slugs: ["chat", "no-such"] });
    expect(status).toBe(422);
    expect(await slugs()).toEqual(["3d", "ocr", "vision"]);
    expect(await slugs([])).toEqual([]);
  });

  test("a change without fields leaves the model unchanged, also updated_at", async () => {
    const model = await newModel(client, FILLED);
    advance(5);
    expect(await change(model, {})).toEqual(model);
  });

  test("a refused change leaves the model unchanged", async () => {
    const model = await newModel(client);
    const changes = { description: "new", visibility: "nobody" };
    expect((await refused(model, changes)).status).toBe(422);
    expect(await get(model)).toEqual(model);
  });

  test("a renamed model is found only by its new name", async () => {
    const model = await newModel(client, FILLED);
    const taken = await newModel(client);
    expect((await refused(model, { name: taken.name })).status).toBe(409);
    expect(await get(model)).toEqual(model);
    const name = unique("renamed");
    const renamed = await change(model, { name });
    expect(renamed).toEqual({ ...model, name });
    expect((await client.json("GET", pathOf(model))).status).toBe(404);
    expect(await get(renamed)).toEqual(renamed);
    expect(await newModel(client, { name: model.name })).not.toMatchObject({ id: model.id });
    expect(await change(renamed, { name })).toEqual(renamed);
  });
});

describe("the forms", () => {
  test("a model has the short form in lists, and all fields by itself", async () => {
    const { client: owner, username: handle } = await newUser();
    const model = await newModel(owner, { ...FILLED, visibility: "public" });
    await publish(owner, referenceOf(model));
    const detailed = await owner.ok<Model>("GET", pathOf(model));
    expect(keysOf(detailed)).toEqual(DETAILED_FORM);
    expect(keysOf(await owner.ok("PATCH", pathOf(model), {}))).toEqual(DETAILED_FORM);
    const item = Object.fromEntries(
      Object.entries(detailed).filter(([key]) => LIST_FORM.includes(key)),
    );
    expect(keysOf(item)).toEqual(LIST_FORM);
    for (const list of [
      `/v1/models/${handle}`,
      "/v1/user/models",
      "/v1/models?sort_direction=desc",
      `/v1/models/${handle}?category_slugs=chat&category_slugs=vision`,
    ]) {
      await owner.ok("PATCH", pathOf(model), { category_slugs: ["chat", "vision"] });
      const categories = [
        { name: "Chat", slug: "chat" },
        { name: "Vision", slug: "vision" },
      ];
      expect((await pageAt<Model>(owner, list)).items[0]).toEqual({ ...item, categories });
    }
  });

  test("a model contains its latest version in full", async () => {
    const model = await newModel(client);
    const version = await publish(client, referenceOf(model), { release_notes: "one" });
    expect((await get(model)).latest_version).toEqual(version);
    expect((await get(model)).hardware).toBeNull();
    const configuration = { hardware_identifier: hardware };
    await publish(client, referenceOf(model), { configuration });
    const said = { identifier: hardware, name: "Sixteen of them" };
    expect((await get(model)).hardware).toEqual(said);
    const own = unique("hw");
    await operator.ok("PUT", `/v1/operator/hardware/${own}`, { name: "Its own" });
    expect((await change(model, { hardware_identifier: own })).hardware).toMatchObject({
      name: "Its own",
    });
  });

  test("GET /v1/user/models has the caller's models of any visibility, newest first", async () => {
    const { client: owner } = await newUser();
    const made: string[] = [];
    for (const visibility of ["private", "public", "restricted", "private"])
      made.unshift((await newModel(owner, { visibility })).id);
    const { items } = await pageAt<Model>(owner, "/v1/user/models");
    expect(items.map(({ id }) => id)).toEqual(made);
    expect((await new Client(undefined).json("GET", "/v1/user/models")).status).toBe(401);
  });
});
