/** The access of members, service tokens and people of an organization, and its end. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import { BEGIN_MS } from "../../../src/domain/openai/conversation.ts";
import type { Role } from "../../../src/protocol/organization.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";
import { listAccountDeliveries } from "../../../src/services/webhooks/deliveries.ts";
import { callerOf, run, services } from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { EventReader } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { fileUrl, uploaded } from "../support/files.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { answer, chat, completion, newOpenAi, TAKES_ALL } from "../support/openai.ts";
import { newOrganization, type Person, setRole, setShare } from "../support/organizations.ts";
import { addressOf, freshPath } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { settled } from "../support/webhooks.ts";
import { newUser } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** The age at which no cached role or share is used any more. */
const STALE = 10.001;

const create = async (by: Client, model: string, headers = {}) =>
  (await by.create({ model, input: {} }, headers)).body.id;
const tries = async (by: Client, model: string) =>
  (await by.post("/v1/predictions", { model, input: {} })).status;
const listed = async (by: Client, query = "") =>
  (await pageAt<Prediction>(by, `/v1/predictions${query}`)).items.map(({ id }) => id);
const statusOf = async (by: Client, path: string) => (await by.fetch(path)).status;
const key = { "idempotency-key": "the same" };

describe("what members make", () => {
  test("the same Idempotency-Key of two makers stands for two predictions", async () => {
    const { model, join, service } = await newOrganization();
    const [ada, eve, bot] = [await join("member"), await join("member"), await service("member")];
    const makers = [ada.client, eve.client, bot];
    const ids = await Promise.all(makers.map((by) => create(by, model, key)));
    expect(new Set(ids).size).toBe(3);
    expect(await Promise.all(makers.map((by) => create(by, model, key)))).toEqual(ids);
  });

  test("a member lists and reads only their own predictions, a developer those of all", async () => {
    const { model, client, join, service } = await newOrganization();
    const [ada, eve, dev] = [await join("member"), await join("member"), await join("developer")];
    const bot = await service("member");
    const ids = new Map<Client, string>();
    for (const by of [client, ada.client, eve.client, dev.client, bot])
      ids.set(by, await create(by, model));
    const all = [...ids.values()].reverse();
    for (const by of [ada.client, eve.client, bot]) {
      const mine = ids.get(by);
      expect(await listed(by)).toEqual([mine]);
      expect(await listed(by, `?model=${model}`)).toEqual([mine]);
      for (const path of ["", "/explain", "/webhooks"])
        for (const id of all)
          expect(await statusOf(by, `/v1/predictions/${id}${path}`)).toBe(id === mine ? 200 : 404);
      for (const id of all.filter((id) => id !== mine))
        expect((await by.post(`/v1/predictions/${id}/cancel`, {})).status).toBe(404);
    }
    expect(await listed(dev.client)).toEqual(all);
    for (const id of all) expect(await statusOf(dev.client, `/v1/predictions/${id}`)).toBe(200);
  });

  test("a member's list is filtered by model and status", async () => {
    const { model, join } = await newOrganization();
    const { client } = await join("member");
    const [first, second] = [await create(client, model), await create(client, model)];
    await client.cancel(first);
    await expect.poll(() => listed(client, "?statuses=canceled")).toEqual([first]);
    expect(await listed(client, `?model=${model}&statuses=pending`)).toEqual([second]);
    expect(await listed(client, "?model=nobody/else")).toEqual([]);
  });

  test("an upload of another member is neither read nor run, and a developer reads it", async () => {
    const { model, join } = await newOrganization();
    const [ada, eve, dev] = [await join("member"), await join("member"), await join("developer")];
    const upload = await uploaded(ada.client, new TextEncoder().encode("hers"));
    const path = `/v1/uploads/${upload.id}`;
    expect(await statusOf(ada.client, path)).toBe(200);
    expect(await statusOf(eve.client, path)).toBe(404);
    expect((await eve.client.send("DELETE", path, "")).status).toBe(404);
    const { pathname } = new URL(fileUrl(upload));
    expect((await eve.client.post(`${pathname}/addresses`, {})).status).toBe(404);
    expect((await dev.client.post(`${pathname}/addresses`, {})).status).toBe(200);
    const files = async ({ client }: { client: Client }) =>
      (await client.ok<{ results: object[] }>("GET", "/replicate/v1/files")).results.length;
    expect(await Promise.all([ada, eve, dev].map(files))).toEqual([1, 0, 1]);
    // An input that names a file of another maker gets the text alone, not the file.
    const input = { file: new URL(path, "https://auspex.test").href };
    const { status } = await eve.client.post("/v1/predictions", { model, input });
    expect(status).toBe(404);
  });

  test("a conversation of another member does not exist, and a developer reads it", async () => {
    const { join } = await newOrganization();
    const [ada, eve, dev] = [await join("member"), await join("member"), await join("developer")];
    const { id } = await ada.client.ok<{ id: string }>("POST", "/v1/vendora/conversations", {});
    const path = `/v1/vendora/conversations/${id}`;
    expect(await statusOf(ada.client, path)).toBe(200);
    expect(await statusOf(eve.client, path)).toBe(404);
    expect(await statusOf(dev.client, path)).toBe(200);
  });

  test("a response of a developer stays in the conversation of the member who uses it next", async () => {
    const organization = await newOrganization(TAKES_ALL);
    const { model, join, runner } = organization;
    const [ada, dev] = [await join("member"), await join("developer")];
    const fleet = await runner();
    const { id } = await ada.client.ok<{ id: string }>("POST", "/v1/vendora/conversations", {});
    const said = async ({ client }: Person) => {
      const path = `/v1/vendora/conversations/${id}/items?order=asc`;
      const { data } = await client.ok<{ data: { content: { text: string }[] }[] }>("GET", path);
      return data.map(({ content }) => content[0]?.text);
    };
    const respond = async ({ client }: Person, input: string) => {
      const body = { model, input, conversation: id };
      const [response] = await Promise.all([
        client.post("/v1/vendora/responses", body),
        answer(fleet, `to ${input}`),
      ]);
      return response.json<{ id: string }>();
    };
    await respond(dev, "One");
    advance(BEGIN_MS / 1_000 + 1);
    expect(await said(ada)).toEqual(["One", "to One"]);
    await respond(dev, "Two");
    await respond(ada, "Three");
    expect(await said(dev)).toEqual(["One", "to One", "Two", "to Two", "Three", "to Three"]);
    const last = await respond(dev, "Four");
    await setRole(organization, dev, "member");
    advance(STALE);
    await dev.client.ok("DELETE", `/v1/vendora/responses/${last.id}`);
    expect((await said(ada)).slice(6)).toEqual(["Four", "to Four"]);
  });

  test("a member lists only the webhook deliveries of their own predictions", async () => {
    const { model, join, runner, user_id } = await newOrganization();
    const [ada, eve, dev] = [await join("member"), await join("member"), await join("developer")];
    const fleet = await runner(2);
    const ids: string[] = [];
    for (const { client } of [ada, eve]) {
      const webhook = { url: addressOf(freshPath()), events: ["completed"] };
      const { id } = (await client.create({ model, input: {}, webhook })).body;
      await (await fleet.work()).channel.succeed("one");
      await settled(client, id, "delivered");
      ids.push(id);
    }
    const listedFor = async (maker: string, role: Role) => {
      const caller = { ...callerOf({ user_id }), maker, role };
      const request = { cursor: undefined, size: 10, url: "https://auspex.test/" };
      const filter = { which: undefined, endpoint_id: undefined };
      const { items } = await listAccountDeliveries(services, caller, filter, request);
      return items.map(({ prediction_id }) => prediction_id);
    };
    await eventually(async () =>
      expect(await listedFor(dev.user_id, "developer")).toEqual(ids.toReversed()),
    );
    expect(await listedFor(ada.user_id, "member")).toEqual([ids[0]]);
    expect(await listedFor(eve.user_id, "member")).toEqual([ids[1]]);
    const [event] = await settled(ada.client, ids[0] ?? "", "delivered");
    const again = `/v1/predictions/${ids[0]}/webhooks/${event?.id}/redeliver`;
    expect((await eve.client.post(again, {})).status).toBe(404);
    expect((await ada.client.post(again, {})).status).toBe(202);
  });
});

describe("what roles may do", () => {
  const CREATE = { name: "new" };
  test.each([
    ["member", [403, 403, 403, 403, 403]],
    ["developer", [200, 200, 200, 200, 403]],
    ["admin", [200, 200, 200, 200, 200]],
  ] as const)(
    "a %s changes models, endpoints and the profile as the table says",
    async (role, expected) => {
      const { model, join, service } = await newOrganization();
      for (const by of [(await join(role)).client, await service(role)]) {
        const statuses = [
          (await by.fetch("/v1/webhook-endpoints")).status,
          (await by.fetch("/v1/user/usage")).status,
          (await by.send("PATCH", `/v1/models/${model}`, { description: "x" })).status,
          (await by.put(`/v1/models/${model}/variables/SECRET`, { value: "x" })).status,
          (await by.send("PATCH", "/v1/user", { bio: "x" })).status,
        ];
        expect(statuses).toEqual(expected);
        expect((await by.send("PATCH", "/v1/user", { username: "taken-over" })).status).toBe(403);
        expect(await statusOf(by, `/v1/models/${model}`)).toBe(200);
      }
      expect((await (await join("member")).client.post("/v1/models", CREATE)).status).toBe(403);
    },
  );

  test("an error names the role that is missing", async () => {
    const { model, join } = await newOrganization();
    const { client } = await join("member");
    const { detail } = await (await client.send("PATCH", `/v1/models/${model}`, {})).json<{
      detail: string;
    }>();
    expect(detail).toBe(
      `You need the role developer for the model '${model}', and yours is member. Ask an admin of the organization.`,
    );
  });

  test("a person's own token runs the organization's private models for the person", async () => {
    const organization = await newOrganization();
    const { model, join } = organization;
    const { own, client } = await join("owner");
    const id = await create(own, model);
    expect(await statusOf(own, `/v1/models/${model}/versions`)).toBe(200);
    expect(await statusOf(own, `/v1/predictions/${id}`)).toBe(200);
    expect(await statusOf(client, `/v1/predictions/${id}`)).toBe(404);
    expect((await own.send("PATCH", `/v1/models/${model}`, {})).status).toBe(403);
    const other = await newOrganization();
    expect(await tries(client, other.model)).toBe(404);
  });
});

describe("the end of an access", () => {
  test("a token ends with the membership of its maker, and a service token stays", async () => {
    const organization = await newOrganization();
    const ada = await organization.join("admin");
    const bot = await organization.service("developer");
    expect(await tries(ada.client, organization.model)).toBe(202);
    expect(await tries(ada.own, organization.model)).toBe(202);
    await setRole(organization, ada, undefined);
    advance(STALE);
    expect(await tries(ada.client, organization.model)).toBe(401);
    expect(await tries(ada.own, organization.model)).toBe(404);
    expect(await tries(bot, organization.model)).toBe(202);
  });

  test("a token of an organization stops while its maker is suspended", async () => {
    const organization = await newOrganization();
    const { client, user_id } = await organization.join("developer");
    expect(await statusOf(client, "/v1/user")).toBe(200);
    await run("UPDATE users SET suspended_at = 1 WHERE id = ?", user_id);
    advance(STALE);
    expect(await statusOf(client, "/v1/user")).toBe(401);
    await run("UPDATE users SET suspended_at = NULL WHERE id = ?", user_id);
    advance(STALE);
    expect(await statusOf(client, "/v1/user")).toBe(200);
  });

  test("a demotion ends the stream of another's prediction, and one's own goes on", async () => {
    const check = holdTimers(CHECK_MS);
    const organization = await newOrganization();
    const dev = await organization.join("developer");
    const { id, channel } = await organization.begun();
    const own = await create(dev.client, organization.model);
    const [theirs, mine] = await Promise.all(
      [id, own].map(async (one) => new EventReader((await dev.client.stream(one)).body)),
    );
    await setRole(organization, dev, "member");
    advance(5);
    check();
    await channel.report([{ event: "output", data: "secret" }]);
    const words: string[] = [];
    for (let event = await theirs?.next(); event; event = await theirs?.next())
      words.push(event.event);
    expect(words.at(-1)).toBe("problem");
    expect(await statusOf(dev.client, `/v1/predictions/${id}/stream`)).toBe(200);
    advance(5.001);
    expect(await statusOf(dev.client, `/v1/predictions/${id}/stream`)).toBe(404);
    expect(await mine?.next()).toMatchObject({ event: "status" });
    await mine?.leave();
  });

  test("the end of a share ends new runs, the live stream and a waiting request", async () => {
    const check = holdTimers(CHECK_MS);
    const world = await newOpenAi({ visibility: "private" });
    const guest = await newUser();
    const { client: by } = guest;
    expect((await chat(by, world.model)).status).toBe(404);
    await setShare(world.model, guest, "run");
    const id = await create(by, world.model);
    const runs = await world.fleet.work();
    const events = new EventReader((await by.stream(id)).body);
    const answering = chat(by, world.model);
    const { channel } = await world.fleet.work();
    await setShare(world.model, guest, undefined);
    advance(5);
    check();
    const words: string[] = [];
    for (let event = await events.next(); event; event = await events.next())
      words.push(event.event);
    expect(words.at(-1)).toBe("problem");
    expect(await statusOf(by, `/v1/predictions/${id}/stream`)).toBe(403);
    await channel.report([{ event: "output", data: completion("late") }], {
      status: "succeeded",
      output: "value",
    });
    const refused = await answering;
    expect(refused.status).toBe(403);
    expect(await refused.text()).not.toContain("late");
    advance(STALE);
    expect(await tries(by, world.model)).toBe(404);
    // The account that paid for a run keeps its result.
    await runs.channel.report([], { status: "succeeded", output: "none" });
    await expect.poll(() => statusOf(by, `/v1/predictions/${id}`)).toBe(200);
  });
});
