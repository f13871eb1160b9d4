/** A conversation's items of the maximum size. */
import { expect, test } from "vitest";
import { finish, put } from "../support/openai.ts";
import { newResponses, refusal } from "../support/openai-responses.ts";

const CONVERSATIONS = "/v1/vendora/conversations";

interface Item {
  id: string;
  content: { text: string }[];
}

const { client, fleet, create, completed } = await newResponses();

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
