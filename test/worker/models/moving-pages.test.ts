/** Pages of GET /v1/models in all its orders, while the list changes. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { forgetHidden } from "../../../src/services/models/public-reads.ts";
import { sized } from "../../support/sized.ts";
import { pageAt } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { sweep } from "../support/queues.ts";
import { newUser } from "../support/world.ts";

const nobody = new Client(undefined);
const { user_id } = await newUser();

/** Removes all models. Later models get the same IDs, so the list of hidden ones is emptied, too. */
async function clear(): Promise<void> {
  await env.DB.exec("DELETE FROM models");
  forgetHidden();
}

beforeEach(clear);

interface Entry {
  /** The model's place among the IDs. */
  place: number;
  count: number;
}

const idAt = (place: number) => `019a0000-0000-7000-8000-${place.toString(16).padStart(12, "0")}`;

/** The expected list of models, and the rows in D1 as the service writes them. */
class Models {
  /** Counts of all models, deleted ones too. */
  readonly counts = new Map<string, number>();
  readonly shown = new Set<string>();
  readonly #there = new Set<string>();

  async insert(entries: Entry[]): Promise<void> {
    const fresh = entries.filter(({ place }) => !this.counts.has(idAt(place)));
    const statements = fresh.flatMap(({ place, count }) => [
      env.DB.prepare(
        `INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
          VALUES (?1, ?2, ?1, 'public', '', '', 0, 0)`,
      ).bind(idAt(place), user_id),
      env.DB.prepare(
        "UPDATE model_counts SET predictions_count = ?, unlisted = true WHERE model_id = ?",
      ).bind(count, idAt(place)),
    ]);
    if (statements.length > 0) await env.DB.batch(statements);
    await sweep();
    for (const { place, count } of fresh) {
      this.counts.set(idAt(place), count);
      this.shown.add(idAt(place));
      this.#there.add(idAt(place));
    }
  }

  async delete(id: string): Promise<void> {
    await env.DB.prepare("DELETE FROM models WHERE id = ?").bind(id).run();
    this.#there.delete(id);
    this.shown.delete(id);
  }

  async show(id: string, shown: boolean): Promise<void> {
    const visibility = shown ? "restricted" : "private";
    const set = env.DB.prepare("UPDATE models SET visibility = ? WHERE id = ?");
    await set.bind(visibility, id).run();
    forgetHidden();
    if (shown) this.shown.add(id);
    else this.shown.delete(id);
  }

  async apply(change: Change): Promise<void> {
    if (change.what === "insert") return this.insert([change.entry]);
    const id = [...this.#there][change.nth % this.#there.size];
    if (id === undefined) return;
    return change.what === "delete" ? this.delete(id) : this.show(id, change.what === "show");
  }
}

type Change = { what: "insert"; entry: Entry } | { what: "delete" | "hide" | "show"; nth: number };

const entry = fc.record<Entry>({ place: fc.nat(500), count: fc.integer({ min: 1, max: 4 }) });
const entries = fc.uniqueArray(entry, {
  selector: ({ place }) => place,
  minLength: 1,
  maxLength: 30,
});
const changes = fc.array(
  fc.oneof(
    fc.record({ what: fc.constant("insert" as const), entry }),
    fc.record({ what: fc.constantFrom("delete", "hide", "show"), nth: fc.nat(1_000) }),
  ),
  { maxLength: 12 },
);

interface Reading {
  /** The IDs in the order of reading. */
  seen: string[];
  /** Models that were in the list from the first page to the last. */
  stayed: Set<string>;
  /** The IDs of the last page. `turn` is the address of the page before it. */
  last: string[];
  turn: string | null;
}

/** Reads to the end, with two changes after each page. */
async function read(
  models: Models,
  address: string,
  [to, from]: ["next_url", "previous_url"] | ["previous_url", "next_url"],
  between: Change[],
): Promise<Reading> {
  const seen: string[] = [];
  const stayed = new Set(models.shown);
  for (let at = address, n = 0; ; n += 2) {
    const page = await pageAt<Model>(nobody, at);
    const ids = page.items.map(({ id }) => id);
    seen.push(...(to === "next_url" ? ids : ids.toReversed()));
    const next = page[to];
    if (next === null) return { seen, stayed, last: ids, turn: page[from] };
    for (const change of between.slice(n, n + 2)) {
      await models.apply(change);
      for (const id of stayed) if (!models.shown.has(id)) stayed.delete(id);
    }
    at = next;
  }
}

const QUERIES = ["created_at", "predictions_count"].flatMap((sort) =>
  ["asc", "desc"].map((direction) => ({ sort, direction })),
);

describe.each(QUERIES)("by $sort, $direction", ({ sort, direction }) => {
  const list = `/v1/models?page_size=5&sort_by=${sort}&sort_direction=${direction}`;

  test(
    "models that stay in the list are read once, in order, forth and back",
    () =>
      fc.assert(
        fc
          .asyncProperty(entries, changes, changes, async (first, onTheWay, onTheWayBack) => {
            const models = new Models();
            await models.insert(first);
            const keyOf = (id: string) =>
              sort === "predictions_count" ? `${models.counts.get(id)} ${id}` : id;
            const sorted = (ids: Iterable<string>, ascending: boolean) =>
              [...new Set(ids)].sort((a, b) => (keyOf(a) < keyOf(b) === ascending ? -1 : 1));
            const ascending = direction === "asc";

            const forth = await read(models, list, ["next_url", "previous_url"], onTheWay);
            expect(forth.seen).toEqual(sorted(forth.seen, ascending));
            expect(forth.seen).toEqual(expect.arrayContaining([...forth.stayed]));

            if (forth.turn === null) return;
            const [start] = forth.last;
            const back = await read(models, forth.turn, ["previous_url", "next_url"], onTheWayBack);
            const before = [...back.stayed].filter(
              (id) =>
                start === undefined || (id !== start && sorted([id, start], ascending)[0] === id),
            );
            expect(back.seen).toEqual(sorted(back.seen, !ascending));
            expect(back.seen).toEqual(expect.arrayContaining(before));
          })
          .beforeEach(clear),
        { numRuns: sized(4, 15), seed: 20_261_121 },
      ),
    3_600_000,
  );

  test("a page that has lost all its models still has previous_url, and next_url afterwards", async () => {
    const models = new Models();
    await models.insert(Array.from({ length: 7 }, (_, place) => ({ place, count: 1 + place })));
    const first = await pageAt<Model>(nobody, list);
    const next = first.next_url ?? expect.fail("there is a second page");
    const onSecond = (await pageAt<Model>(nobody, next)).items.map(({ id }) => id);
    for (const id of onSecond) await models.show(id, false);
    const empty = await pageAt<Model>(nobody, next);
    expect(empty).toMatchObject({ items: [], next_url: null });
    const back = await pageAt<Model>(nobody, empty.previous_url ?? "");
    expect(back).toMatchObject({ items: first.items, previous_url: null });
    for (const id of onSecond) await models.show(id, true);
    const again = await pageAt<Model>(nobody, back.next_url ?? "");
    expect(again.items.map(({ id }) => id)).toEqual(onSecond);
  });

  test("a model that is added after all others were deleted is found through next_url", async () => {
    const models = new Models();
    await models.insert(Array.from({ length: 7 }, (_, place) => ({ place, count: 1 + place })));
    const first = await pageAt<Model>(nobody, list);
    const second = await pageAt<Model>(nobody, first.next_url ?? "");
    await clear();
    const empty = await pageAt<Model>(nobody, second.previous_url ?? "");
    expect(empty).toMatchObject({ items: [], previous_url: null });
    const late = direction === "asc" ? { place: 400, count: 9 } : { place: 0, count: 1 };
    await new Models().insert([late]);
    const forth = await pageAt<Model>(nobody, empty.next_url ?? "");
    expect(forth.items).toMatchObject([{ id: idAt(late.place) }]);
  });
});
