/** Prices of versions: who sets and sees them, and which runs they count for. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Prices, VersionPrices } from "../../../src/protocol/prices.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run } from "../support/accounts.ts";
import { entriesOf } from "../support/audit.ts";
import { publish } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { objectOf, specOf } from "../support/objects.ts";
import { newOrganization, share } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const HOUR = 3_600;
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

const pathOf = (model: string, number = 1) => `/v1/models/${model}/versions/${number}/prices`;
const setOwn = (by: Client, model: string, body: object) => by.put(pathOf(model), body);
const setForAll = (model: string, body: object) =>
  operator.put(`/v1/operator${pathOf(model).slice("/v1".length)}`, body);

const listed = async (by: Client, model: string) =>
  (await by.ok<Page<VersionPrices>>("GET", pathOf(model))).items;

/** Returns the prices of a new run of the model, which waits. */
async function pricesOf(by: Client, model: string): Promise<Prices | undefined> {
  const { id } = (await by.create({ model, input: {} })).body;
  return (await specOf(await objectOf(id)))?.prices;
}

const newPublic = () => newWorld({ visibility: "public" });

describe("the list of prices", () => {
  test("prices are listed as decimal text, the newest first", async () => {
    const { client, model } = await newWorld();
    expect(await listed(client, model)).toEqual([]);
    const first = { per_million_input_tokens: 0.25, per_million_output_tokens: "1.50" };
    const made = await setOwn(client, model, { prices: first });
    expect([made.status, await made.json()]).toEqual([
      200,
      {
        set_by: "owner",
        from: inSeconds(0),
        prices: { per_million_input_tokens: "0.25", per_million_output_tokens: "1.5" },
      },
    ]);
    advance(1);
    await setOwn(client, model, { prices: null });
    await setOwn(client, model, { prices: { per_run: "1" }, from: inSeconds(HOUR) });
    expect((await listed(client, model)).map(({ prices }) => prices)).toEqual([
      { per_run: "1" },
      null,
      { per_million_input_tokens: "0.25", per_million_output_tokens: "1.5" },
    ]);
  });

  test("prices with the same time replace each other, so that a mistake is undone before it counts", async () => {
    const { client, model } = await newWorld();
    const from = inSeconds(HOUR);
    await setOwn(client, model, { prices: { per_run: 100 }, from });
    await setOwn(client, model, { prices: { per_run: 1 }, from });
    expect(await listed(client, model)).toEqual([
      { set_by: "owner", from, prices: { per_run: "1" } },
    ]);
  });

  test("everybody who may run a model sees its operator's prices, and only the owner's account the owner's", async () => {
    const { client, model, stranger } = await newPublic();
    await setOwn(client, model, { prices: { per_run: 1 } });
    await setForAll(model, { prices: { per_run: 2 } });
    const setters = async (by: Client) => (await listed(by, model)).map(({ set_by }) => set_by);
    expect(await setters(client)).toEqual(["owner", "operator"]);
    expect(await setters(await stranger())).toEqual(["operator"]);
    expect(await setters(new Client(undefined))).toEqual(["operator"]);
  });

  test("prices go with their version, and take room of the owner's account meanwhile", async () => {
    const { client, model, user_id } = await newWorld();
    await publish(client, model);
    const bytes = () =>
      env.DB.prepare("SELECT bytes FROM account_bytes WHERE user_id = ?")
        .bind(user_id)
        .first<number>("bytes");
    const before = (await bytes()) ?? 0;
    await setOwn(client, model, { prices: { per_run: 1 } });
    await setForAll(model, { prices: { per_run: 1 } });
    expect(await bytes()).toBe(before + 512);
    await client.ok("DELETE", `/v1/models/${model}/versions/1`);
    expect(await bytes()).toBeLessThan(before);
    const { status } = await client.fetch(pathOf(model));
    expect(status).toBe(404);
  });
});

describe("the prices of a run", () => {
  test("a publisher's prices count for runs of the publisher's account alone", async () => {
    const { client, model, stranger } = await newPublic();
    await setOwn(client, model, { prices: { per_run: 9_000_000 } });
    expect(await pricesOf(client, model)).toEqual({ per_run: 9_000_000_000_000_000 });
    expect(await pricesOf(await stranger(), model)).toBeUndefined();
  });

  test("an operator's prices count for all runs, in place of the owner's, until they end", async () => {
    const { client, model, stranger } = await newPublic();
    const other = await stranger();
    await setOwn(client, model, { prices: { per_run: 1 } });
    await setForAll(model, { prices: { per_image: 2 } });
    for (const one of [client, other])
      expect(await pricesOf(one, model)).toEqual({ per_image: 2_000_000_000 });
    advance(1);
    await setForAll(model, { prices: null });
    expect(await pricesOf(client, model)).toEqual({ per_run: 1_000_000_000 });
    expect(await pricesOf(other, model)).toBeUndefined();
  });

  test("prices are those of the version that runs, whether it is named or the default", async () => {
    const { client, model } = await newWorld();
    await setOwn(client, model, { prices: { per_run: 1 } });
    await publish(client, model);
    await client.ok("PUT", pathOf(model, 2), { prices: { per_run: 2 } });
    expect(await pricesOf(client, model)).toEqual({ per_run: 2_000_000_000 });
    expect(await pricesOf(client, `${model}:2`)).toEqual({ per_run: 2_000_000_000 });
    expect(await pricesOf(client, `${model}:1`)).toEqual({ per_run: 1_000_000_000 });
  });

  test("prices that begin soon count from then on, without another query", async () => {
    const { client, model } = await newWorld();
    await setOwn(client, model, { prices: { per_run: 1 } });
    await setOwn(client, model, { prices: { per_run: 2 }, from: inSeconds(9) });
    expect(await pricesOf(client, model)).toEqual({ per_run: 1_000_000_000 });
    const batch = vi.spyOn(env.DB, "batch");
    advance(8.999);
    expect(await pricesOf(client, model)).toEqual({ per_run: 1_000_000_000 });
    advance(0.001);
    expect(await pricesOf(client, model)).toEqual({ per_run: 2_000_000_000 });
    expect(batch).not.toHaveBeenCalled();
  });

  test("prices that begin much later count from then on", async () => {
    const { client, model } = await newWorld();
    await setOwn(client, model, { prices: { per_run: 1 } });
    await setOwn(client, model, { prices: { per_run: 2 }, from: inSeconds(HOUR) });
    advance(HOUR - 1);
    expect(await pricesOf(client, model)).toEqual({ per_run: 1_000_000_000 });
    advance(1);
    expect(await pricesOf(client, model)).toEqual({ per_run: 2_000_000_000 });
  });

  test("a run costs what its metrics say at the prices of its create", async () => {
    const world = await newWorld();
    const { client, model } = world;
    const prices = { per_run: "0.01", per_million_output_tokens: 5, per_second: 0 };
    await setOwn(client, model, { prices });
    const { id, channel } = await world.begun();
    await setOwn(client, model, { prices: { per_run: 100 } });
    advance(1);
    const metrics = { event: "metrics", data: { output_tokens: 2_000, input_tokens: -1 } } as const;
    await channel.report([metrics], {
      ...{ status: "succeeded", output: "none", execution_seconds: 1 },
    });
    expect((await client.get(id)).cost).toEqual({
      amount: "0.02",
      currency: "USD",
      parts: [
        { type: "run", quantity: 1, unit: "run", price: "0.01", per: 1, amount: "0.01" },
        {
          ...{ type: "output_tokens", quantity: 2_000, unit: "token" },
          ...{ price: "5", per: 1_000_000, amount: "0.01" },
        },
      ],
    });
  });

  test("a run whose create looks its token and version up has its prices with them", async () => {
    const { client, model } = await newWorld();
    await setOwn(client, model, { prices: { per_run: 1 } });
    advance(11);
    const batch = vi.spyOn(env.DB, "batch");
    expect(await pricesOf(client, model)).toEqual({ per_run: 1_000_000_000 });
    expect(batch).toHaveBeenCalledTimes(1);
  });
});

describe("who sets prices", () => {
  test("a collaborator sets no prices, and nor does a member of the organization", async () => {
    const { client, model } = await newWorld();
    for (const level of ["run", "write"] as const) {
      const friend = await newUser();
      await share(client, model, friend, level);
      expect((await setOwn(friend.client, model, { prices: { per_run: 1 } })).status).toBe(403);
    }
    const organization = await newOrganization();
    const member = await organization.join("member");
    const developer = await organization.join("developer");
    const statusFor = async (by: Client) =>
      (await setOwn(by, organization.model, { prices: { per_run: 1 } })).status;
    expect(await statusFor(member.client)).toBe(403);
    expect(await statusFor(developer.client)).toBe(200);
    expect(await listed(client, model)).toEqual([]);
    expect(await listed(member.client, organization.model)).toHaveLength(1);
  });

  test("an operator prices a private model of another account", async () => {
    const { client, model } = await newWorld();
    expect((await setForAll(model, { prices: { per_run: 1 } })).status).toBe(200);
    expect(await pricesOf(client, model)).toEqual({ per_run: 1_000_000_000 });
    expect((await setForAll(`${model}-gone`, { prices: null })).status).toBe(404);
  });
});

describe("refused prices", () => {
  test("an empty object is no end of all prices, and the refusal says what is", async () => {
    const { client, model } = await newWorld();
    const refused = await setOwn(client, model, { prices: {} });
    expect(await refused.json()).toMatchObject({
      detail: [
        {
          loc: ["body", "prices"],
          msg: "Set at least one price, or send null to end all prices",
        },
      ],
    });
  });

  test.each<[string, object]>([
    ["more than an amount can be", { prices: { per_run: 9_000_001 } }],
    ["less than nothing", { prices: { per_run: -1 } }],
    ["too exact", { prices: { per_run: "0.0000000001" } }],
    ["of something else", { prices: { per_mile: 1 } }],
    ["missing", {}],
    ["none, without saying that they end", { prices: {} }],
    ["from the past", { prices: { per_run: 1 }, from: "2020-01-01T00:00:00Z" }],
  ])("prices that are %s are refused", async (_, body) => {
    const { client, model } = await newWorld();
    expect((await setOwn(client, model, body)).status).toBe(422);
    expect((await setForAll(model, body)).status).toBe(422);
    expect(await listed(client, model)).toEqual([]);
  });

  test("the prices of a version are bounded, those of operators apart", async () => {
    const { client, model } = await newWorld();
    const fill = (set_by: string) =>
      run(
        `INSERT INTO version_prices SELECT models.id, 1, '${set_by}', value, NULL
          FROM models JOIN json_each(?) WHERE owner_id = (SELECT id FROM users WHERE username = ?)`,
        JSON.stringify(Array.from({ length: 100 }, (_, n) => n)),
        model.split("/")[0],
      );
    await fill("owner");
    const refused = await setOwn(client, model, { prices: { per_run: 1 } });
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining("has had 100 prices"),
    ]);
    expect((await setForAll(model, { prices: { per_run: 1 } })).status).toBe(200);
    await run("DELETE FROM version_prices WHERE set_by = 'operator' AND starts_at > 1000");
    await fill("operator");
    expect((await setForAll(model, { prices: { per_run: 1 } })).status).toBe(409);
    expect(await entriesOf(client, "?action=version.priced")).toHaveLength(1);
  });
});

test("prices are recorded with those before them, as amounts are written", async () => {
  const { client, model, username }: World = await newWorld();
  await setOwn(client, model, { prices: { per_run: "0.10" } });
  advance(1);
  await setOwn(client, model, { prices: { per_second: 1 } });
  await setForAll(model, { prices: { per_run: 2 } });
  const entries = (await entriesOf(client, "?action=version.priced")).reverse();
  expect(entries.map(({ targets }) => targets[0]?.name)).toEqual(Array(3).fill(`${model}:1`));
  expect(entries.map(({ changes }) => changes)).toMatchObject([
    { before: { prices: null }, after: { set_by: "owner", prices: { per_run: "0.1" } } },
    { before: { prices: { per_run: "0.1" } }, after: { prices: { per_second: "1" } } },
    { before: { prices: null }, after: { set_by: "operator", prices: { per_run: "2" } } },
  ]);
  expect(entries.map(({ actor }) => actor.name)).toEqual([username, username, "OPERATOR_TOKEN"]);
});
