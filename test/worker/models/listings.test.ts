/** GET /v1/models and /v1/models/{owner}: their models and the order. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { pageAt, pathOf } from "../support/catalogue.ts";
import { Client, type Refusal } from "../support/client.ts";
import { listed, newOwner, nobody } from "../support/owners.ts";
import { newUser } from "../support/world.ts";

describe("visibility", () => {
  test("private models are in no list, restricted ones are, for any caller", async () => {
    const { client, username, names, both } = await newOwner(
      {},
      { visibility: "private" },
      { visibility: "restricted" },
    );
    const [shown, , restricted] = names;
    expect(await both()).toEqual([shown, restricted]);
    expect(await listed(`/v1/models/${username}`, "", client)).toEqual([shown, restricted]);
  });

  test("a change of visibility shows in lists at once, with the model's current categories", async () => {
    const { client, models, names, both } = await newOwner({ category_slugs: ["chat"] });
    const [model, name] = [pathOf(models[0] ?? expect.fail()), names[0]];
    const set = (changes: object) => client.ok("PATCH", model, changes);
    await set({ visibility: "private" });
    expect(await both()).toEqual([]);
    expect(await both("&category_slugs=chat")).toEqual([]);
    await set({ category_slugs: ["music", "ocr"] });
    expect(await both("&category_slugs=music")).toEqual([]);
    for (const visibility of ["restricted", "public", "public"]) {
      await set({ visibility });
      expect(await both()).toEqual([name]);
      expect(await both("&category_slugs=chat")).toEqual([]);
      expect(await both("&category_slugs=ocr")).toEqual([name]);
    }
    await client.ok("DELETE", model);
    expect(await both("&category_slugs=ocr")).toEqual([]);
  });

  test("the list of an unknown user is a 404", async () => {
    expect((await nobody.json("GET", "/v1/models/nobody-at-all")).status).toBe(404);
  });
});

test("models are listed in the order of creation, or reversed", async () => {
  const { names, both } = await newOwner({}, {}, {}, {}, {}, {});
  expect(await both()).toEqual(names);
  expect(await both("&sort_by=created_at&sort_direction=asc")).toEqual(names);
  expect(await both("&sort_direction=desc")).toEqual(names.toReversed());
});

describe("categories", () => {
  test("categories are alternatives, and a model in several is listed once", async () => {
    const { names, both } = await newOwner(
      { category_slugs: ["chat"] },
      { category_slugs: ["chat", "vision", "music"] },
      { category_slugs: [] },
      { category_slugs: ["vision"] },
      { category_slugs: ["music"] },
    );
    const [a, b, , d, e] = names;
    const of = (...slugs: string[]) =>
      both(slugs.map((slug) => `&category_slugs=${slug}`).join(""));
    expect(await of("chat")).toEqual([a, b]);
    expect(await of("vision", "chat")).toEqual([a, b, d]);
    expect(await of("chat", "vision", "music")).toEqual([a, b, d, e]);
    expect(await of("chat", "chat")).toEqual([a, b]);
    expect(await of("science")).toEqual([]);
    expect(await of("no-such-category")).toEqual([]);
    expect(await both("&category_slugs=chat&category_slugs=music&sort_direction=desc")).toEqual([
      e,
      b,
      a,
    ]);
  });

  test("a list takes at most 20 categories", async () => {
    const { names, both } = await newOwner({ category_slugs: ["3d"] });
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => `&category_slugs=${n ? `none-${n}` : "3d"}`).join("");
    expect(await both(many(20))).toEqual(names);
    const { status, body } = await nobody.json<Refusal>("GET", `/v1/models?${many(21)}`);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["query", "category_slugs"] }]);
  });

  test("a category that the operator deletes disappears from models and lists", async () => {
    const slug = "passing";
    const { client, models, both } = await newOwner({});
    const operator = new Client(env.OPERATOR_TOKEN);
    await operator.ok("PUT", `/v1/operator/categories/${slug}`, { name: "Passing" });
    const model = pathOf(models[0] ?? expect.fail());
    await client.ok("PATCH", model, { category_slugs: [slug] });
    expect(await both(`&category_slugs=${slug}`)).toHaveLength(1);
    await operator.ok("DELETE", `/v1/operator/categories/${slug}`);
    expect(await both(`&category_slugs=${slug}`)).toEqual([]);
    expect(await client.ok("GET", model)).toMatchObject({ categories: [] });
  });
});

describe("a query", () => {
  const lists = ["/v1/models", "/v1/models/{owner}"];

  test.each([
    ["sort_by", "name"],
    ["sort_by", "Created_at"],
    ["sort_by", ""],
    ["sort_direction", "up"],
    ["sort_direction", "DESC"],
    ["category_slugs", "No Slug"],
    ["page_size", "4"],
    ["page_size", "101"],
    ["page_size", "5.0"],
    ["page_size", ""],
  ])("the query %s=%s is refused", async (name, value) => {
    const { username } = await newUser();
    for (const list of lists) {
      const path = `${list.replace("{owner}", username)}?${name}=${encodeURIComponent(value)}`;
      const { status, body } = await nobody.json<Refusal>("GET", path);
      expect(status).toBe(422);
      expect(body.detail).toMatchObject({ 0: { loc: expect.arrayContaining(["query", name]) } });
    }
  });

  test("a page has 5 to 100 items in lists of all models or users, and 5 to 50 in others", async () => {
    const { client, username } = await newUser();
    for (const [list, max] of [
      ["/v1/models", 100],
      ["/v1/users", 100],
      [`/v1/models/${username}`, 50],
      ["/v1/user/models", 50],
      ["/v1/predictions", 50],
      ["/v1/model_categories", 50],
      ["/v1/hardware", 50],
    ] as const) {
      const status = async (size: number) =>
        (await client.json("GET", `${list}?page_size=${size}`)).status;
      expect([await status(4), await status(5)]).toEqual([422, 200]);
      expect([await status(max), await status(max + 1)]).toEqual([200, 422]);
    }
  });

  test("a page has 25 items by default", async () => {
    const { username } = await newOwner(...Array(26).fill({}));
    expect((await pageAt(nobody, `/v1/models/${username}`)).items).toHaveLength(25);
  });
});
