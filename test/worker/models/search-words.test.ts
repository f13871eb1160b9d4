/** The words by which search forgives typing errors: their accounts, and when they are removed. */
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { namesOf, newModel, pageAt, pathOf } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newUser } from "../support/world.ts";

const { client } = await newUser();
const { client: stranger } = await newUser();

beforeEach(() => env.DB.exec("DELETE FROM models"));

const found = async (q: string, caller: Client) =>
  namesOf(await pageAt<Model>(caller, `/v1/search/models?q=${encodeURIComponent(q)}`));

/** Returns the number of texts with each of these words. */
const usesOf = async (...words: string[]) => {
  const { results } = await env.DB.prepare(
    "SELECT word, sum(uses) AS uses FROM words WHERE word IN (SELECT value FROM json_each(?)) GROUP BY word",
  )
    .bind(JSON.stringify(words))
    .all<{ word: string; uses: number }>();
  return Object.fromEntries(results.map(({ word, uses }) => [word, uses]));
};

test("a word is counted by its texts, and removed with the last of them", async () => {
  const one = await newModel(client, { name: "first", overview: "Zephyr zephyr quicksand" });
  const two = await newModel(client, { name: "second", overview: "zephyr", visibility: "public" });
  expect(await usesOf("zephyr", "quicksand")).toEqual({ zephyr: 2, quicksand: 1 });
  await client.ok("PATCH", pathOf(one), { overview: "zephyr alone" });
  expect(await usesOf("zephyr", "quicksand", "alone")).toEqual({ zephyr: 2, alone: 1 });
  await client.ok("PATCH", pathOf(two), { description: "Zéphyr", overview: "" });
  expect(await usesOf("zephyr")).toEqual({ zephyr: 2 });
  await client.ok("DELETE", pathOf(one));
  await client.ok("DELETE", pathOf(two));
  expect(await usesOf("zephyr", "alone", "second")).toEqual({});
});

test("words of a user's profile are counted and removed as well", async () => {
  const { client: other } = await newUser();
  await other.ok("PATCH", "/v1/user", { company: "Quagmire" });
  expect(await usesOf("quagmire")).toEqual({ quagmire: 1 });
  await other.ok("PATCH", "/v1/user", { company: "Elsewhere" });
  expect(await usesOf("quagmire", "elsewhere")).toEqual({ elsewhere: 1 });
});

test("typing errors are forgiven by public words and the caller's own, not by others' private ones", async () => {
  await newModel(client, { name: "hidden", description: "marmalade" });
  await newModel(stranger, { name: "marmalades-jar", visibility: "public", description: "" });
  // "marmelade" is one letter away from "marmalade", which only the private model has.
  expect(await found("marmelade", client)).toEqual(["hidden"]);
  expect(await found("marmelade", stranger)).toEqual([]);
  const { client: third } = await newUser();
  await newModel(third, { name: "mine", overview: "marmalade" });
  expect(await found("marmelade", third)).toEqual(["mine"]);
});

test("a model's words are used for all callers only while it is not private", async () => {
  const model = await newModel(client, { name: "shown", description: "marmalade" });
  expect(await found("marmelade", stranger)).toEqual([]);
  await client.ok("PATCH", pathOf(model), { visibility: "public" });
  expect(await found("marmelade", stranger)).toEqual(["shown"]);
  await client.ok("PATCH", pathOf(model), { visibility: "private" });
  expect(await found("marmelade", stranger)).toEqual([]);
  expect(await found("marmelade", client)).toEqual(["shown"]);
  expect(await usesOf("marmalade")).toEqual({ marmalade: 1 });
});

test("private words have no row among the public ones", async () => {
  await newModel(client, { name: "hidden", description: "marmalade" });
  const { results } = await env.DB.prepare(
    "SELECT count(*) AS count FROM words WHERE word = 'marmalade' AND id < 1 << 40",
  ).all();
  expect(results).toEqual([{ count: 0 }]);
});
