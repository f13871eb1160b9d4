/** Every list in pages: forward and back again, by cursor and by address. */
import { beforeAll, describe, expect, test } from "vitest";
import { sized } from "../../support/sized.ts";
import {
  newModel,
  type Page,
  pageAt,
  pathOf,
  publish,
  referenceOf,
  walk,
} from "../support/catalogue.ts";
import { Client, ORIGIN, type Refusal } from "../support/client.ts";
import { newDeployment } from "../support/deployments.ts";
import { FakeRunner } from "../support/runner.ts";
import {
  newClient,
  newRunnerToken,
  newUser,
  newWorld,
  operator,
  unique,
} from "../support/world.ts";

const ROWS = 12;
const world = await newWorld({ visibility: "public" });
const { client, username, hardware } = world;
const PRICES = `/v1/models/${world.model}/versions/1/prices`;
const nobody = new Client(undefined);

beforeAll(async () => {
  await newDeployment(client, { model: world.model, name: "deployed" });
  for (let n = 0; n < ROWS; n++) {
    await world.waiting();
    await publish(client, world.model);
    await newModel(client, { visibility: "public", category_slugs: n % 2 ? ["chat"] : ["ocr"] });
    await newClient(username);
    await newDeployment(client, { model: world.model });
    await client.ok("PATCH", `/v1/deployments/${username}/deployed`, { idle_seconds: n });
    await FakeRunner.begin(await newRunnerToken(hardware), hardware, unique("box"));
    await newUser();
    await operator.ok("PUT", `/v1/operator/hardware/${unique("hw")}`, { name: "x" });
    const from = new Date(Date.UTC(2100, 0, 1 + n)).toISOString();
    await client.ok("PUT", PRICES, { prices: { per_run: 1 }, from });
  }
});

interface List {
  path: string;
  as: Client;
}

/** Lists of at least twelve rows each. */
const LISTS: Record<string, List> = {
  "all models": { path: "/v1/models?", as: nobody },
  "all models, backwards": { path: "/v1/models?sort_direction=desc&", as: nobody },
  "models in two categories": {
    path: "/v1/models?category_slugs=chat&category_slugs=ocr&",
    as: nobody,
  },
  "models of an owner": { path: `/v1/models/${username}?sort_by=created_at&`, as: nobody },
  "own models": { path: "/v1/user/models?", as: client },
  versions: { path: `/v1/models/${world.model}/versions?`, as: nobody },
  "prices of a version": { path: `${PRICES}?`, as: client },
  deployments: { path: "/v1/deployments?", as: client },
  releases: { path: `/v1/deployments/${username}/deployed/releases?`, as: client },
  users: { path: "/v1/users?", as: nobody },
  "users, backwards": { path: "/v1/users?sort_direction=desc&", as: nobody },
  categories: { path: "/v1/model_categories?", as: nobody },
  hardware: { path: "/v1/hardware?", as: nobody },
  predictions: { path: "/v1/predictions?", as: client },
  "predictions of two statuses": {
    path: "/v1/predictions?statuses=pending&statuses=failed&",
    as: client,
  },
  "predictions of a model": { path: `/v1/predictions?model=${world.model}&`, as: client },
  "predictions of a model and two statuses": {
    path: `/v1/predictions?model=${world.model}&statuses=pending&statuses=failed&`,
    as: client,
  },
  tokens: { path: `/v1/operator/users/${username}/tokens?`, as: operator },
  "runner tokens": { path: "/v1/operator/runner_tokens?", as: operator },
  runners: { path: "/v1/operator/runners?", as: operator },
  queues: { path: "/v1/operator/queues?", as: operator },
};

const first = ({ path, as }: List, size = 5) => pageAt<unknown>(as, `${path}page_size=${size}`);
const itemsOf = (pages: Page<unknown>[]) => pages.map(({ items }) => items);

/** Lists that differ from another one by a filter or by their direction. */
const VARIANT = /backwards|of two statuses|and two statuses|two categories/;

const lists = Object.entries(LISTS).filter(([name]) => sized(!VARIANT.test(name), true));

describe.each(lists)("%s", (_, list) => {
  test("a page has the five keys, null where there is no neighbour", async () => {
    const pages = await walk(list.as, `${list.path}page_size=5`);
    expect(pages.length).toBeGreaterThanOrEqual(3);
    for (const [n, page] of pages.entries()) {
      expect(Object.keys(page).sort()).toEqual([
        "items",
        "next_cursor",
        "next_url",
        "previous_cursor",
        "previous_url",
      ]);
      const isLast = n === pages.length - 1;
      expect([page.next_cursor === null, page.next_url === null]).toEqual([isLast, isLast]);
      expect([page.previous_cursor === null, page.previous_url === null]).toEqual([!n, !n]);
    }
  });

  test("pages forward to the end and back again have the same items in the same order", async () => {
    const forth = await walk(list.as, `${list.path}page_size=5`);
    const last = forth.at(-1)?.previous_url ?? expect.fail("no way back");
    const back = await walk(list.as, last, "previous_url");
    expect(itemsOf(back).reverse()).toEqual(itemsOf(forth.slice(0, -1)));
    const again = await walk(list.as, back.at(-1)?.next_url ?? expect.fail("no way forth"));
    expect(itemsOf(again)).toEqual(itemsOf(forth.slice(1)));
    const ids = forth.flatMap(({ items }) => items.map((item) => JSON.stringify(item)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(ROWS);
  });

  test("pages of another size have the same items", async () => {
    const small = await walk(list.as, `${list.path}page_size=5`);
    const large = await walk(list.as, `${list.path}page_size=11`);
    expect(itemsOf(large).flat()).toEqual(itemsOf(small).flat());
  });

  test("pages have whole addresses that keep all parameters", async () => {
    const { next_url, next_cursor } = await first(list);
    const asked = new URL(`${list.path}page_size=5`, ORIGIN);
    const next = new URL(next_url ?? "");
    expect(next.origin + next.pathname).toBe(ORIGIN + asked.pathname);
    expect(next.searchParams.get("cursor")).toBe(next_cursor);
    next.searchParams.delete("cursor");
    expect([...next.searchParams]).toEqual([...asked.searchParams]);
    const { previous_url } = await pageAt(list.as, next_url ?? "");
    const previous = new URL(previous_url ?? "");
    expect(previous.searchParams.getAll("cursor")).toHaveLength(1);
  });

  test("a list refuses a cursor of any other list", async () => {
    const { next_cursor } = await first(list);
    const others = Object.values(LISTS).filter((other) => other !== list);
    for (const other of others.slice(0, sized(1, others.length)))
      await expectRefused(other, next_cursor);
  });

  test("a list refuses a cursor that was tampered with", async () => {
    const cursor = (await first(list)).next_cursor ?? "";
    const middle = Math.floor(cursor.length / 2);
    for (const at of [0, middle, cursor.length - 1]) {
      const other = cursor[at] === "A" ? "B" : "A";
      await expectRefused(list, cursor.slice(0, at) + other + cursor.slice(at + 1));
    }
    for (const bad of ["x", ".", `${cursor}.`, cursor.toLowerCase(), "x".repeat(1_001)])
      await expectRefused(list, bad);
  });
});

async function expectRefused({ path, as }: List, cursor: string | null) {
  const address = `${path}page_size=5&cursor=${encodeURIComponent(cursor ?? "")}`;
  const { status, body } = await as.json<Refusal>("GET", address);
  expect([address, status]).toEqual([address, 422]);
  expect(body.detail).toMatchObject([{ loc: ["query", "cursor"] }]);
}

describe("a cursor of somebody else's list", () => {
  test("a cursor of models or predictions is refused", async () => {
    const { client: other, username: otherName } = await newUser();
    for (const list of ["own models", "predictions"]) {
      const { path, as } = LISTS[list] ?? expect.fail();
      await expectRefused({ path, as: other }, (await first({ path, as })).next_cursor);
    }
    const { next_cursor } = await first(LISTS["models of an owner"] ?? expect.fail());
    const path = `/v1/models/${otherName}?sort_by=created_at&`;
    await expectRefused({ path, as: nobody }, next_cursor);
  });

  test("a cursor of versions or tokens is refused", async () => {
    const { client: other, username: otherName } = await newUser();
    const model = await newModel(other, { visibility: "public" });
    await publish(other, referenceOf(model));
    const versions = await first(LISTS.versions ?? expect.fail());
    await expectRefused({ path: `${pathOf(model)}/versions?`, as: other }, versions.next_cursor);
    const tokens = await first(LISTS.tokens ?? expect.fail());
    const path = `/v1/operator/users/${otherName}/tokens?`;
    await expectRefused({ path, as: operator }, tokens.next_cursor);
  });

  test("a cursor of one's own list works with another page size", async () => {
    const list = LISTS["own models"] ?? expect.fail();
    const { next_cursor } = await first(list);
    const address = `${list.path}page_size=50&cursor=${encodeURIComponent(next_cursor ?? "")}`;
    expect((await pageAt(list.as, address)).items).toHaveLength(ROWS + 1 - 5);
  });
});
