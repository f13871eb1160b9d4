/** Pages of search results: the same items forth and back while models change, and statements by index. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { searchModels, searchUsers } from "../../../src/services/models/search.ts";
import { getServices } from "../../../src/services/services.ts";
import { database } from "../../../src/storage/database.ts";
import { sized } from "../../support/sized.ts";
import { namesOf, type Page, pageAt, walk } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { newUser } from "../support/world.ts";

const nobody = new Client(undefined);
const { user_id } = await newUser();
const LIST = "/v1/search/models?q=story&page_size=5";

beforeEach(() => env.DB.exec("DELETE FROM models"));

/** The ways in which a model matches `story`, best first. The last three are near matches. */
const WAYS = [
  { name: (n: number) => `story-${n}` },
  { name: (n: number) => `a${n}`, description: "a story" },
  { name: (n: number) => `b${n}`, overview: "a story" },
  { name: (n: number) => `stroy-${n}` },
  { name: (n: number) => `c${n}`, description: "many a sory" },
  { name: (n: number) => `d${n}`, overview: "a prestory" },
];

let made = 0;

/** Inserts a model that matches in one of the `WAYS`. Returns its name. */
async function insert(way: number): Promise<string> {
  const { name, description = "", overview = "" } = WAYS[way] ?? expect.fail();
  const called = name(++made);
  await env.DB.prepare(
    `INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
      VALUES (?1, ?2, ?1, 'public', ?3, ?4, 0, 0)`,
  )
    .bind(called, user_id, description, overview)
    .run();
  return called;
}

const remove = (name: string) =>
  env.DB.prepare("DELETE FROM models WHERE name = ?").bind(name).run();

test("search pages have the same items forth and back, best match first", async () => {
  const ways = Array.from({ length: 66 }, (_, n) => n % WAYS.length);
  const inserted: { name: string; way: number }[] = [];
  for (const way of ways) inserted.push({ name: await insert(way), way });
  const ranked = WAYS.flatMap((_, way) => inserted.filter((one) => one.way === way).reverse());
  const forth = await walk<Model>(nobody, LIST);
  expect(forth.flatMap(namesOf)).toEqual(ranked.map(({ name }) => name));
  const back = await walk<Model>(nobody, forth.at(-1)?.previous_url ?? "", "previous_url");
  expect(back.toReversed().map(namesOf)).toEqual(forth.slice(0, -1).map(namesOf));
});

type Change = { insert: number } | { remove: number };
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ insert: fc.nat(WAYS.length - 1) }),
  fc.record({ remove: fc.nat(1_000) }),
);

test(
  "models that stay in the results are read once, in order, forth and back",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(WAYS.length - 1), { minLength: 10, maxLength: 30 }),
        fc.array(change, { maxLength: 40 }),
        async (ways, changes) => {
          await env.DB.exec("DELETE FROM models");
          const there = new Set<string>();
          for (const way of ways) there.add(await insert(way));
          const stayed = new Set(there);
          const before = (await walk<Model>(nobody, LIST)).flatMap(namesOf);
          const read = async (address: string, to: "next_url" | "previous_url") => {
            const pages: Page<Model>[] = [];
            for (let at: string | null | undefined = address; at; at = pages.at(-1)?.[to]) {
              pages.push(await pageAt<Model>(nobody, at));
              for (const one of changes.splice(0, 3)) await apply(one);
            }
            return pages;
          };
          const apply = async (one: Change) => {
            if ("insert" in one) return void there.add(await insert(one.insert));
            const name = [...there][one.remove % there.size];
            if (name === undefined) return;
            await remove(name);
            there.delete(name);
            stayed.delete(name);
          };
          const forth = await read(LIST, "next_url");
          const back = await read(forth.at(-1)?.previous_url ?? "", "previous_url");
          const last = forth.at(-1) ?? expect.fail();
          const seenForth = forth.flatMap(namesOf);
          const seenBack = [...back.toReversed(), last].flatMap(namesOf);
          const kept = before.filter((name) => stayed.has(name));
          for (const seen of [seenForth, seenBack]) {
            expect(seen.length).toBe(new Set(seen).size);
            expect(seen.filter((name) => stayed.has(name))).toEqual(kept);
          }
        },
      ),
      { numRuns: sized(3, 12) },
    ),
  3_600_000,
);

test("the first page of a search decides whether the list includes near matches", async () => {
  const near = await insert(3);
  for (let n = 0; n < 48; n++) await insert(0);
  const first = await pageAt<Model>(nobody, LIST);
  for (let n = 0; n < 10; n++) await insert(1);
  const rest = await walk<Model>(nobody, first.next_url ?? "");
  expect(rest.flatMap(namesOf).at(-1)).toBe(near);
  expect((await walk<Model>(nobody, LIST)).flatMap(namesOf)).not.toContain(near);
});

test("a cursor belongs to its query and to its caller", async () => {
  for (let n = 0; n < 6; n++) await insert(0);
  const { next_cursor } = await pageAt<Model>(nobody, LIST);
  const status = async (caller: Client, q: string) => {
    const path = `/v1/search/models?q=${q}&page_size=5&cursor=${next_cursor}`;
    const response = await caller.fetch(path);
    await response.text();
    return response.status;
  };
  const { client } = await newUser();
  expect(await status(nobody, "story")).toBe(200);
  expect(await status(nobody, "stor")).toBe(422);
  expect(await status(client, "story")).toBe(422);
});

test("every statement of a search reads an index, and sorts nothing", async () => {
  for (let n = 0; n < 18; n++) await insert(n % WAYS.length);
  const statements = new Set<string>();
  const d1 = new Proxy(env.DB, {
    get(target, key) {
      if (key === "prepare")
        return (statement: string) => {
          statements.add(statement);
          return target.prepare(statement);
        };
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const services = { ...getServices(env), db: database(d1) };
  const request = { size: 5, url: "https://auspex.test/v1/search" };
  const caller = {
    token_id: "",
    user_id,
    username: "",
    maker: "",
    role: "owner" as const,
    scopes: [],
    models: null,
    priority: null,
  };
  let cursor: string | undefined;
  const cursors: string[] = [];
  do {
    const page = await searchModels(services, caller, "story", { ...request, cursor });
    cursor = page.next_cursor ?? undefined;
    if (page.previous_cursor !== null) cursors.push(page.previous_cursor);
  } while (cursor !== undefined);
  for (const previous of cursors)
    await searchModels(services, caller, "story", { ...request, cursor: previous });
  await searchUsers(services, "user", { ...request, cursor: undefined });
  const plans = await Promise.all([...statements].map(planOf));
  expect(
    plans.flat().filter((detail) => detail.includes("VIRTUAL TABLE INDEX")).length,
  ).toBeGreaterThan(8);
  // Owners who share models are found once each, among 10,000 shares at most.
  const sorted = /TEMP B-TREE(?! FOR DISTINCT$)/;
  for (const detail of plans.flat()) {
    expect(detail).not.toMatch(sorted);
    expect(detail).not.toMatch(
      /^SCAN (users|models|model_counts|model_categories|categories|words)$/,
    );
    // A plan with M enters the full-text index by the words to match.
    expect(detail).not.toMatch(/VIRTUAL TABLE INDEX \d+:(?!M)/);
  }
});

async function planOf(statement: string): Promise<string[]> {
  const values = [...statement.matchAll(/\?/g)].map(() => null);
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${statement}`)
    .bind(...values)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}
