/** GET /v1/search/models and /v1/search/users: their results for each caller, and the order. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import {
  accessExpression,
  matchExpression,
  parseQuery,
  similarWordsExpression,
} from "../../../src/domain/search.ts";
import type { Model } from "../../../src/protocol/model.ts";
import type { User } from "../../../src/protocol/user.ts";
import { sized } from "../../support/sized.ts";
import { namesOf, newModel, pageAt, pathOf, walk } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { newUser } from "../support/world.ts";

const nobody = new Client(undefined);
const { client, user_id, username } = await newUser();
const publish = (name: string, fields: object = {}) =>
  newModel(client, { name, visibility: "public", ...fields });

beforeEach(() => env.DB.exec("DELETE FROM models"));

const modelsAt = (q: string, query = "") => `/v1/search/models?q=${encodeURIComponent(q)}${query}`;
const found = async (q: string, caller = nobody) =>
  namesOf(await pageAt<Model>(caller, modelsAt(q)));

/** Inserts rows of models, the last of them the newest. */
const insert = (models: { name: string; description?: string; overview?: string }[]) =>
  env.DB.prepare(
    `INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
      SELECT value ->> 'name', ?, value ->> 'name', 'public', coalesce(value ->> 'description', ''),
        coalesce(value ->> 'overview', ''), 0, 0 FROM json_each(?)`,
  )
    .bind(user_id, JSON.stringify(models))
    .run();

describe("models", () => {
  test("models are found in order of their match, and among equals the newest first", async () => {
    await publish("whisper");
    await publish("tale", { overview: "It can whisper too." });
    await publish("fast-whisper");
    await publish("voice", { description: "Whisper, but louder" });
    await publish("whisper-large");
    const others = ["whisper-large", "fast-whisper", "voice", "tale"];
    expect(await found("whisper")).toEqual(["whisper", ...others]);
    expect(await found("whisp")).toEqual([
      "whisper-large",
      "fast-whisper",
      "whisper",
      "voice",
      "tale",
    ]);
  });

  test("models are found by owner and name", async () => {
    await publish("story");
    await publish("story-2");
    expect(await found(`${username}/story`)).toEqual(["story", "story-2"]);
    expect(await found(`${username.slice(0, -1)} sto`)).toEqual(["story-2", "story"]);
    expect(await found(username)).toEqual(["story-2", "story"]);
  });

  test("models are found by words of their name, description and overview together", async () => {
    await publish("piano", { description: "Plays Chopin", overview: "Runs on a laptop" });
    await publish("piano-2", { description: "Plays Bach" });
    expect(await found("laptop chopin PIANO")).toEqual(["piano"]);
  });

  test("models are found in any script, with or without accents", async () => {
    await publish("one", { description: "Crème brûlée", overview: "Йога для всех, 拡散モデル" });
    for (const q of ["creme", "CRÈME", "cre\u0300me", "brulee", "йог", "拡散", "モデル"])
      expect(await found(q), q).toEqual(["one"]);
  });

  test.each(["whispr", "wisper", "difusion", "stabel", "lamma", "storry", "istral", "sotry-telr"])(
    "models are found by the mistyped name %s",
    async (typed) => {
      const names = ["whisper", "stable-diffusion", "llama", "mistral", "story-teller"];
      await insert([...names, "other"].map((name) => ({ name })));
      const [only, ...rest] = await found(typed);
      expect(names).toContain(only);
      expect(rest).toEqual([]);
    },
  );

  test("models with a near match in their overview are found after exact matches", async () => {
    await insert([
      { name: "typed", overview: "we difuse" },
      { name: "diffuse" },
      { name: "near", overview: "they diffuse" },
    ]);
    expect(await found("difuse")).toEqual(["typed", "diffuse", "near"]);
  });

  test("models with a near match are found only if there are at most 50 exact matches", async () => {
    await insert([
      { name: "stories" },
      ...Array.from({ length: 50 }, (_, n) => ({ name: `storie-${n}` })),
    ]);
    expect((await everything("storie")).length).toBe(51);
    await insert([{ name: "stoire" }]);
    expect(await everything("storie")).not.toContain("stoire");
    await env.DB.exec("DELETE FROM models WHERE name = 'storie-1'");
    expect((await everything("storie")).at(-1)).toBe("stoire");
  });
});

const everything = async (q: string) =>
  (await walk<Model>(nobody, modelsAt(q, "&page_size=50"))).flatMap(namesOf);

describe("the index", () => {
  test("the index follows a change of name, description and overview", async () => {
    const path = pathOf(await publish("before", { description: "old", overview: "ancient" }));
    await client.ok("PATCH", path, { name: "after", description: "new", overview: "recent" });
    for (const q of ["before", "old", "ancient"]) expect(await found(q), q).toEqual([]);
    for (const q of ["after", "new", "recent"]) expect(await found(q), q).toEqual(["after"]);
  });

  test("the index follows a change of the owner's name", async () => {
    const owner = await newUser();
    await newModel(owner.client, { name: "thing", visibility: "public" });
    await owner.client.ok("PATCH", "/v1/user", { username: `${owner.username}-zz` });
    expect(await found(`${owner.username}/thing`)).toEqual(["thing"]);
    expect(await found(`${owner.username}-zz/thing`)).toEqual(["thing"]);
    await owner.client.ok("PATCH", "/v1/user", { username: `yy-${owner.username}` });
    expect(await found(`${owner.username}-zz`)).toEqual([]);
  });

  test("the index follows a deletion", async () => {
    const path = pathOf(await publish("gone"));
    await client.ok("DELETE", path);
    expect(await found("gone")).toEqual([]);
    await publish("new");
    expect(await found("gone")).toEqual([]);
  });
});

test("a private model is found only by its owner, by each of its words", async () => {
  const owner = await newUser();
  const stranger = await newUser();
  const fields = { name: "secret", description: "hidden", overview: "covert" };
  const path = pathOf(await newModel(owner.client, fields));
  const queries = ["secret", "secre", "hidden", "covert", "covret", `${owner.username}/secret`];
  const foundBy = async (caller: Client) =>
    (await Promise.all(queries.map((q) => found(q, caller)))).flat().length;
  expect(await foundBy(owner.client)).toBe(queries.length);
  expect(await foundBy(stranger.client)).toBe(0);
  expect(await foundBy(nobody)).toBe(0);
  await owner.client.ok("PATCH", path, { visibility: "restricted" });
  expect(await foundBy(stranger.client)).toBe(queries.length);
  expect(await foundBy(nobody)).toBe(queries.length);
  await owner.client.ok("PATCH", path, { visibility: "private" });
  expect(await foundBy(owner.client)).toBe(queries.length);
  expect(await foundBy(stranger.client)).toBe(0);
  expect(await foundBy(nobody)).toBe(0);
});

describe("users", () => {
  const foundUsers = async (q: string) =>
    (await pageAt<User>(nobody, `/v1/search/users?q=${encodeURIComponent(q)}`)).items.map((user) =>
      "username" in user ? user.username : user.name,
    );

  test("users are found by username, name and company, the best match first", async () => {
    const people = [await newUser(), await newUser(), await newUser()];
    const [first, second, third] = people;
    await first?.client.ok("PATCH", "/v1/user", { username: "q1", company: "Analytical Engines" });
    await second?.client.ok("PATCH", "/v1/user", { username: "q2", name: "Analyticus" });
    await third?.client.ok("PATCH", "/v1/user", { username: "analytic" });
    expect(await foundUsers("analytic")).toEqual(["analytic", "q2", "q1"]);
    expect(await foundUsers("anlytical")).toEqual(["q1"]);
    await third?.client.ok("PATCH", "/v1/user", { username: "q3" });
    expect(await foundUsers("analytic")).toEqual(["q2", "q1"]);
  });
});

describe("a query", () => {
  const answers = async (q: string) => {
    for (const list of ["models", "users"]) {
      const path = `/v1/search/${list}?q=${encodeURIComponent(q)}&page_size=5`;
      const response = await client.fetch(path);
      expect(response.status, JSON.stringify(q)).toBe(200);
      await response.text();
    }
  };

  const QUERIES = [
    `"`,
    `""`,
    `"a`,
    "'",
    "a' OR 1=1 --",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NOT a",
    "a NOT",
    "NEAR(a b, 2)",
    "a*",
    "*",
    "^a",
    "name: a",
    "seen: a",
    "{seen fresh}: a",
    "-a",
    "+a",
    "a + b",
    "(",
    ")",
    "((a)",
    "\0",
    "a\0b",
    "a\u0007b",
    "🤖",
    "👩‍👩‍👧",
    "a",
    "é",
    "字",
    "拡散モデル",
    "ß",
    "İ",
    "ﬁ",
    "\u0301",
    "a\u0301",
    "\ue000",
    "\ue002737461",
    "\u19b0a\u1cf2",
    "%",
    "_",
    "\\",
    ";",
    "\u202e",
    " ",
    "a".repeat(50),
    "a b c d e f g h i j k l m n o p q r s t u v w x y",
    "abc ".repeat(12),
    "字".repeat(50),
  ];
  test.each(QUERIES.slice(0, sized(12, QUERIES.length)))("the query %j is answered", answers);

  test("a query of any characters is answered", { timeout: 3_600_000 }, async () => {
    await publish("anything", { description: "AND or not near 字", overview: "a b c d e" });
    const part = fc.constantFrom(
      ...`"'()*^:-+{}, \0`,
      "AND ",
      "OR ",
      "NOT ",
      "NEAR",
      "a",
      "é",
      "字",
      "🤖",
    );
    const hostile = fc.string({ unit: part, minLength: 1, maxLength: 20 });
    const any = fc.string({ unit: "binary", minLength: 1, maxLength: 50 });
    const halves = fc.array(fc.integer({ min: 0xd800, max: 0xe010 }), {
      minLength: 1,
      maxLength: 50,
    });
    const query = fc.oneof(
      hostile,
      any,
      halves.map((codes) => String.fromCharCode(...codes)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(query, { minLength: 60, maxLength: 60 }), (queries) =>
        asked(queries),
      ),
      { numRuns: sized(3, 20) },
    );
  });
});

/** Runs the expressions in FTS5, which throws at an invalid one. */
const matched = (index: string, expressions: string[]) =>
  env.DB.batch(
    expressions.map((text) =>
      env.DB.prepare(`SELECT rowid FROM ${index} WHERE ${index} MATCH ? LIMIT 1`).bind(text),
    ),
  );

async function asked(texts: string[]): Promise<void> {
  const queries = texts.map(parseQuery).filter((query) => query !== undefined);
  const access = accessExpression([user_id]);
  const similars = queries.flatMap(({ words }) => words.map(similarWordsExpression));
  const one = matchExpression(parseQuery("one") ?? expect.fail(), {});
  await matched("words_trigrams", similars.length > 0 ? similars : ['"one"']);
  await matched("models_words", [
    one,
    ...queries.flatMap((query) => [
      matchExpression(query, { access }),
      matchExpression(query, { access, lastTier: 2, alternatives: [["one", "two"]] }),
    ]),
  ]);
}
