/** Items of conversations and instructions of responses, of the maximum size. */
import { expect, test, vi } from "vitest";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { answer, finish, put } from "../support/openai.ts";
import { newResponses, PATH, refusal } from "../support/openai-responses.ts";

const CONVERSATIONS = "/v1/vendora/conversations";

interface Item {
  id: string;
  content: { text: string }[];
}

const { client, fleet, create, completed } = await newResponses();

const user = (content: string) => ({ role: "user", content });

const begun = async () => (await client.ok<{ id: string }>("POST", CONVERSATIONS, {})).id;

async function said(id: string): Promise<string[]> {
  const path = `${CONVERSATIONS}/${id}/items?order=asc`;
  const { data } = await client.ok<{ data: Item[] }>("GET", path);
  return data.map(({ content }) => content[0]?.text ?? "");
}

test("a response adds items of the maximum size, also with characters beyond Latin-1", async () => {
  const id = await begun();
  // One character beyond Latin-1 makes each one two bytes: more than the 32 MiB of a call to an object.
  const long = "x".repeat(450_000);
  const input = `${long.repeat(20)}語`;
  const response = create({ conversation: id, input });
  const { channel } = await fleet.work();
  for (let n = 0; n < 20; n++) await put(channel, long);
  await finish(channel, ["語", ""]);
  await (await response).arrayBuffer();
  expect(await said(id)).toEqual([input]);
  const refused = create({ conversation: id, input: "x" });
  expect(await refusal(refused)).toMatchObject({ code: "context_length_exceeded" });
  const path = `${CONVERSATIONS}/${id}/items`;
  const [last] = (await client.ok<{ data: Item[] }>("GET", `${path}?limit=1`)).data;
  expect(last?.content[0]?.text).toBe(input);
  await client.ok("DELETE", `${path}/${last?.id}`);
  await completed({ conversation: id, input: "Two" }, "second");
  expect(await said(id)).toEqual([input, "Two", "second"]);
});

test("items that are referred to are read only until they exceed what a request may have", async () => {
  const long = "x".repeat(4_000_000);
  const input = [];
  for (let n = 0; n < 4; n++) {
    const { id } = await completed({ input: long });
    const list = await client.ok<{ data: { id: string }[] }>("GET", `${PATH}/${id}/input_items`);
    input.push({ type: "item_reference", id: list.data[0]?.id ?? "" });
  }
  const read = vi.spyOn(PredictionObject.prototype, "get");
  expect(await refusal(create({ input }))).toMatchObject({
    status: 400,
    code: "context_length_exceeded",
  });
  expect(read).toHaveBeenCalledTimes(3);
  read.mockRestore();
});

test("a conversation has at most 10 MB, and takes 20 new items per request", async () => {
  const id = await begun();
  const path = `${CONVERSATIONS}/${id}/items`;
  await client.ok("POST", path, { items: [user("x".repeat(9_000_000))] });
  const more = client.post(path, { items: [user("x".repeat(2_000_000))] });
  expect(await refusal(more)).toMatchObject({ status: 400, code: "context_length_exceeded" });
  const tooMany = Array.from({ length: 21 }, () => user("x"));
  expect((await client.post(path, { items: tooMany })).status).toBe(422);
});

test("two responses at a time may have long instructions, and the next may follow at their end", async () => {
  const instructions = "x".repeat(5 * 1024 * 1024);
  const waiting = [create({ instructions }), create({ instructions, stream: true })];
  const works = [await fleet.work(), await fleet.work()];
  const third = await create({ instructions });
  expect(third.status).toBe(429);
  expect(await third.text()).toContain("Send long texts in 'input'");
  for (const { channel } of works) await finish(channel, ["on"]);
  for (const response of await Promise.all(waiting)) {
    expect(response.status).toBe(200);
    await response.body?.pipeTo(new WritableStream());
  }
  const [again] = await Promise.all([create({ instructions }), answer(fleet, "on")]);
  expect(again.status).toBe(200);
});
