/** Conversations: their owners and items, and the responses in them, one at a time. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test } from "vitest";
import { giveUp } from "../support/accounts.ts";
import { accountOf, inAccount } from "../support/objects.ts";
import { answer, answerAll, finish, newest, newOpenAi } from "../support/openai.ts";
import { newResponses, PATH, refusal, resource } from "../support/openai-responses.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser } from "../support/world.ts";

const CONVERSATIONS = "/v1/vendora/conversations";

const { client, fleet, model, user_id, create, completed } = await newResponses();
const { client: stranger } = await newOpenAi();

afterEach(startClock);

interface Item {
  id: string;
  type: string;
  content: { text: string }[];
}

const begun = async (body: object = {}) =>
  (await client.ok<{ id: string }>("POST", CONVERSATIONS, body)).id;

async function said(id: string): Promise<string[]> {
  const path = `${CONVERSATIONS}/${id}/items?order=asc`;
  const { data } = await client.ok<{ data: Item[] }>("GET", path);
  return data.map(({ content }) => content[0]?.text ?? "");
}

const user = (content: string) => ({ role: "user", content });

describe("a conversation", () => {
  test("a conversation is made, read, updated and deleted", async () => {
    const made = await client.ok<{ id: string }>("POST", CONVERSATIONS, { metadata: { a: "b" } });
    expect(made).toMatchObject({ object: "conversation", metadata: { a: "b" } });
    const path = `${CONVERSATIONS}/${made.id}`;
    expect(await client.ok("GET", path)).toEqual(made);
    const updated = await client.ok("POST", path, { metadata: { c: "d" } });
    expect(updated).toEqual({ ...made, metadata: { c: "d" } });
    const gone = { id: made.id, object: "conversation.deleted", deleted: true };
    expect(await client.ok("DELETE", path)).toEqual(gone);
    expect(await refusal(client.fetch(path))).toMatchObject({ status: 404 });
    expect(await refusal(client.post(PATH, { model, conversation: made.id }))).toMatchObject({
      ...{ status: 404, code: "conversation_not_found" },
    });
  });

  test("a conversation's items are added, listed, read and deleted", async () => {
    const large = "é".repeat(1_200_000);
    const id = await begun({ items: [user("One"), { ...user(large), id: "mine" }] });
    const path = `${CONVERSATIONS}/${id}/items`;
    const added = await client.ok<{ data: Item[] }>("POST", path, { items: [user("Three")] });
    expect(added.data).toMatchObject([{ type: "message", status: "completed" }]);
    expect(await said(id)).toEqual(["One", large, "Three"]);
    const page = await client.ok<{ data: Item[]; has_more: boolean }>("GET", `${path}?limit=1`);
    expect(page).toMatchObject({ has_more: true, data: [{ content: [{ text: "Three" }] }] });
    const next = await client.ok<{ data: Item[] }>("GET", `${path}?after=${page.data[0]?.id}`);
    expect(next.data.map((item) => item.id)[0]).toBe("mine");
    expect(await client.ok("GET", `${path}/mine`)).toMatchObject({ id: "mine", type: "message" });
    const again = client.post(path, { items: [{ ...user("x"), id: "mine" }] });
    expect(await refusal(again)).toMatchObject({ status: 400, code: "duplicate_item" });
    expect(await client.ok("DELETE", `${path}/mine`)).toMatchObject({ id });
    expect(await said(id)).toEqual(["One", "Three"]);
    expect(await refusal(client.fetch(`${path}/mine`))).toMatchObject({ status: 404 });
    expect(await refusal(client.fetch(`${path}?after=mine`))).toMatchObject({ status: 400 });
  });

  test("a conversation is a 404 for another account", async () => {
    const id = await begun({ items: [user("secret")] });
    const path = `${CONVERSATIONS}/${id}`;
    for (const asked of [
      stranger.fetch(path),
      stranger.fetch(`${path}/items`),
      stranger.post(`${path}/items`, { items: [user("x")] }),
      stranger.fetch(path, { method: "DELETE" }),
      stranger.fetch(`${CONVERSATIONS}/conv_${"0".repeat(64)}`),
      stranger.fetch(`${CONVERSATIONS}/conv_1`),
    ])
      expect(await refusal(asked)).toMatchObject({ status: 404, code: "conversation_not_found" });
    expect(await said(id)).toEqual(["secret"]);
  });

  test("a limited token may not read its conversation once a token for more models adds an item", async () => {
    const limited = await newClient(model.split("/")[0] ?? "", { models: [model] });
    const { id } = await limited.ok<{ id: string }>("POST", CONVERSATIONS, {});
    const path = `${CONVERSATIONS}/${id}/items`;
    await limited.ok("POST", path, { items: [user("mine")] });
    expect(await said(id)).toEqual(["mine"]);
    await limited.ok("GET", path);
    await client.ok("POST", path, { items: [user("of another model")] });
    expect((await limited.fetch(path)).status).toBe(403);
  });

  test("a conversation is deleted with its account", async () => {
    const leaving = await newUser();
    const { id } = await leaving.client.ok<{ id: string }>("POST", CONVERSATIONS, {});
    await giveUp(leaving);
    const object = env.CONVERSATION.get(env.CONVERSATION.idFromString(id.slice(5)));
    expect(
      await object.head({ user_id: leaving.user_id, maker: "", role: "owner", models: null }),
    ).toEqual({
      refused: "hidden",
    });
    expect(await (await accountOf(leaving.user_id))?.isEmpty()).toBe(true);
  });
});

describe("a response in a conversation", () => {
  test("a response in a conversation is given its items, and adds its own", async () => {
    const id = await begun({ items: [user("One")] });
    const [response, job] = await Promise.all([
      create({ input: "Two", conversation: id }),
      answer(fleet, "second"),
    ]);
    expect(await resource(response)).toMatchObject({ conversation: { id } });
    expect(job.input?.input).toMatchObject([{ content: "One" }, { role: "user" }]);
    expect(await said(id)).toEqual(["One", "Two", "second"]);
    const { output } = await completed({ conversation: { id }, input: null }, "third");
    expect(await said(id)).toEqual(["One", "Two", "second", "third"]);
    const own = create({ conversation: id, input: output });
    expect(await refusal(own)).toMatchObject({ status: 400, code: "duplicate_item" });
    await completed({ conversation: id, input: "Four" }, "fourth");
    expect(await said(id)).toHaveLength(6);
  });

  test("a second response in a conversation is refused until the first has ended", async () => {
    const id = await begun();
    const [one, two] = await Promise.all([
      create({ conversation: id, input: "One", background: true }),
      create({ conversation: id, input: "One", background: true }),
    ]);
    const statuses = [one.status, two.status].toSorted();
    expect(statuses).toEqual([202, 400]);
    const refused = one.status === 400 ? one : two;
    expect(await refused.json()).toMatchObject({ error: { code: "conversation_locked" } });
    const { channel } = await fleet.work();
    expect(await said(id)).toEqual([]);
    await finish(channel, ["first"]);
    expect(await said(id)).toEqual(["One", "first"]);
  });

  test("a response that is canceled or fails adds nothing, and the next one can begin", async () => {
    const id = await begun();
    const running = await resource(
      create({ conversation: id, input: "One", background: true }),
      202,
    );
    const { channel } = await fleet.work();
    const canceling = client.post(`${PATH}/${running.id}/cancel`, "");
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    expect(await resource(canceling)).toMatchObject({ status: "cancelled" });
    expect(await said(id)).toEqual([]);
    const bad = create({ conversation: id, input: "x", model: "no/model" });
    expect((await bad).status).toBe(404);
    const input = [{ type: "item_reference", id: "none" }];
    const refused = create({ conversation: id, input });
    expect((await refused).status).toBe(400);
    await completed({ conversation: id, input: "Two" }, "second");
    expect(await said(id)).toEqual(["Two", "second"]);
  });

  test("a response's items stay in the conversation when it is not stored or is deleted", async () => {
    const id = await begun();
    const { id: unstored } = await completed(
      { conversation: id, input: "One", store: false },
      "first",
    );
    expect(await refusal(client.fetch(`${PATH}/${unstored}`))).toMatchObject({ status: 404 });
    expect(await said(id)).toEqual(["One", "first"]);
    const second = await completed({ conversation: id, input: "Two" }, "second");
    await client.ok("DELETE", `${PATH}/${second.id}`);
    expect(await said(id)).toEqual(["One", "first", "Two", "second"]);
    await completed({ conversation: id, input: "Three" }, "third");
    await client.ok("DELETE", `/v1/predictions/${await newest(client)}`);
    expect((await said(id)).slice(4)).toEqual(["Three", "third"]);
  });

  test.each([
    [{ previous_response_id: "resp_1" }, "mutually_exclusive_parameters"],
    [{ prompt: { id: "pmpt_1" } }, "unsupported_parameter"],
  ])("a response in a conversation is refused with %o", async (more, code) => {
    const id = await begun();
    expect(await refusal(create({ conversation: id, ...more }))).toMatchObject({
      status: 400,
      code,
    });
  });
});

describe("a compaction", () => {
  test("a compaction replaces the items that it summarizes", async () => {
    const input = [user("Who sighed?"), { role: "assistant", content: "The Queen." }];
    const [response, job] = await Promise.all([
      client.post(`${PATH}/compact`, { model, input }),
      answer(fleet, "The Queen ", "sighed."),
    ]);
    expect(job.input?.input).toHaveLength(3);
    const { output, object } = await response.json<{ output: object[]; object: string }>();
    expect(object).toBe("response.compaction");
    expect(output).toMatchObject([{ type: "compaction" }]);
    const [, next] = await Promise.all([
      create({ input: [...output, user("Why?")] }),
      answer(fleet, "on"),
    ]);
    expect(next.input?.input).toMatchObject([
      {
        role: "developer",
        content: [{ text: "Summary of the conversation so far:\n\nThe Queen sighed." }],
      },
      { content: "Why?" },
    ]);
  });
});

describe("tokens of input", () => {
  test("tokens of input are estimated without a run, with those of the conversation", async () => {
    const id = await begun({ items: [user("x".repeat(400))] });
    const count = (more: object) =>
      client.ok<{ input_tokens: number }>("POST", `${PATH}/input_tokens`, { model, ...more });
    const short = await count({ input: "x".repeat(40) });
    expect(short).toEqual({ object: "response.input_tokens", input_tokens: 11 });
    const long = await count({ input: "x".repeat(40), conversation: id });
    expect(long.input_tokens).toBeGreaterThan(110);
  });

  test("tokens of input are counted by a server that has vendorb_messages", async () => {
    const counting = await newOpenAi({
      compatibilities: { vendora_responses: true, vendorb_messages: true },
    });
    const over = new AbortController();
    const answering = answerAll(counting.fleet, over.signal);
    const body = { model: counting.model, input: "Hi", instructions: "Be brief" };
    expect(await counting.client.ok("POST", `${PATH}/input_tokens`, body)).toEqual({
      ...{ object: "response.input_tokens", input_tokens: 3 },
    });
    over.abort();
    await answering;
  });
});

// This group is last, because the moved clock takes the runner offline.
describe("an unused conversation", () => {
  test("a conversation is deleted when it was not used for as long as predictions are kept", async () => {
    const id = await begun({ items: [user("Hi")] });
    const object = env.CONVERSATION.get(env.CONVERSATION.idFromString(id.slice(5)));
    stopClock();
    advance(29 * 86_400);
    await completed({ conversation: id, input: "Go on" }, "on");
    for (const [days, status] of [
      [2, 200],
      [29, 404],
    ] as const) {
      advance(days * 86_400);
      await runDurableObjectAlarm(object);
      expect((await client.fetch(`${CONVERSATIONS}/${id}`)).status).toBe(status);
    }
    await runInDurableObject(object, async (_, { storage }) => {
      expect((await storage.list()).size).toBe(0);
    });
    const left = await inAccount(user_id, "SELECT 1 FROM conversations WHERE object_id = ?", id);
    expect(left).toEqual([]);
  });
});
