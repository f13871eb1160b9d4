import { expect, test } from "vitest";
import { accessToConversation } from "../../../src/domain/accounts/access.ts";
import {
  compactionItem,
  conversation,
  conversationIdIn,
  conversationIdOf,
  duplicateId,
  itemIdOf,
  itemPage,
  itemsOf,
  listedItems,
  objectIdOf,
  withSummaries,
  withTask,
} from "../../../src/domain/openai/conversation.ts";
import { objections } from "../../published/validate.ts";
import { ID, logOf, tell } from "./response-log.ts";

const OBJECT = "0f".repeat(32);

test("only the ID of an object is a conversation ID", () => {
  expect(objectIdOf(conversationIdOf(OBJECT))).toBe(OBJECT);
  for (const id of ["conv_1", OBJECT, `conv_${OBJECT}0`, `conv_${OBJECT.toUpperCase()}`])
    expect(objectIdOf(id)).toBeUndefined();
  expect(conversationIdIn({ conversation: "a" })).toBe("a");
  expect(conversationIdIn({ conversation: { id: "a" } })).toBe("a");
  expect(conversationIdIn({ conversation: null })).toBeUndefined();
});

test("an item keeps its id, or gets one of its type", () => {
  expect(itemIdOf({ id: "mine", role: "user" }, "new")).toBe("mine");
  expect(itemIdOf({ role: "user" })).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(itemIdOf({ type: "function_call", id: "x".repeat(101) }, "new")).toBe("fc_new");
  expect(itemIdOf({ type: "constructor" })).toMatch(/^item_/);
});

test("IDs that occur twice are found, but a reference may repeat one", () => {
  expect(duplicateId([{ id: "a" }, {}, { id: "b" }, { id: "a" }])).toBe("a");
  expect(duplicateId([{ id: "a" }, { id: "a", type: "item_reference" }, {}, {}])).toBeUndefined();
  // IDs of more than 100 characters are replaced, so each item gets an ID of its own.
  expect(duplicateId([{ id: "x".repeat(101) }, { id: "x".repeat(101) }])).toBeUndefined();
});

test("a limited token can only use conversations of limited tokens whose models it covers", () => {
  const access = (models: string[] | null, used: string[] | null, user_id = "u") =>
    accessToConversation(
      { user_id, maker: "", role: "owner", models },
      { user_id: "u", maker: "", models: used },
    );
  expect(access(null, null)).toBe("granted");
  expect(access(null, ["a"])).toBe("granted");
  expect(access(["a", "b"], ["a"])).toBe("granted");
  expect(access(["a"], ["a", "b"])).toBe("outside token");
  expect(access(["a"], null)).toBe("outside token");
  expect(access(null, null, "other")).toBe("hidden");
});

const user = (text: string) => ({
  type: "message",
  role: "user",
  content: [{ type: "input_text", text }],
});

const expectItemList = (page: object) =>
  expect(objections("openai", "ResponseItemList", page)).toEqual([]);

test("a text becomes one user message, a list stays, and an absent input is empty", () => {
  expect(itemsOf("Hello")).toEqual([user("Hello")]);
  const items = [{ role: "user", content: "Hello" }];
  expect(itemsOf(items)).toBe(items);
  expect(itemsOf(null)).toEqual([]);
  expect(itemsOf(undefined)).toEqual([]);
});

test("the next turn has the earlier input and output", () => {
  const { resource } = tell(logOf(["Good day."]));
  const items = conversation(itemsOf("Hello"), resource.output, "And?");
  expect(items).toEqual([user("Hello"), ...resource.output, user("And?")]);
});

test("all items that a conversation can have are listed as the schema requires", () => {
  const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
  const listed = listedItems(
    [
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Good day." },
      {
        type: "message",
        id: "msg_own",
        role: "developer",
        content: [{ type: "text", text: "Be" }],
      },
      { role: "user", content: [image, { type: "input_file", file_data: "AAAA" }] },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { type: "reasoning", id: "rs_1", content: [{ type: "reasoning_text", text: "Hm" }] },
      { type: "function_call", call_id: "call_1", name: "sum", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "3" },
      {
        type: "function_call_output",
        call_id: "call_2",
        output: [{ type: "input_text", text: "4" }],
      },
    ],
    ID,
  );
  expectItemList(itemPage(listed, { order: "asc" }));
  expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
  expect(listed.map(({ status }) => status)).toEqual(listed.map(() => "completed"));
  expect(listed[2]?.id).toBe("msg_own");
  expect(listed[0]).toMatchObject(user("Hello"));
  expect(listed[1]?.content).toEqual([
    { type: "output_text", text: "Good day.", annotations: [], logprobs: [] },
  ]);
});

test("the generated IDs of items are the same each time", () => {
  const items = itemsOf("Hello");
  expect(listedItems(items, ID)).toEqual(listedItems(items, ID));
});

test("an output item keeps its ID when it comes back as input", () => {
  const { output } = tell(logOf(["Good day."])).resource;
  const listed = listedItems(conversation(itemsOf("Hello"), output, "And?"), ID);
  expect(listed[1]).toEqual(output[0]);
  expectItemList(itemPage(listed, {}));
});

test("pages have each item once, newest or oldest first", () => {
  const listed = listedItems(
    Array.from({ length: 45 }, (_, n) => user(String(n))),
    ID,
  );
  for (const order of ["asc", "desc"] as const) {
    const ids: string[] = [];
    let page = itemPage(listed, { order });
    expect(page.data).toHaveLength(20);
    while (page.data.length > 0) {
      expectItemList(page);
      ids.push(...page.data.map(({ id }) => id));
      expect(page.first_id).toBe(page.data.at(0)?.id);
      expect(page.last_id).toBe(page.data.at(-1)?.id);
      expect(page.has_more).toBe(ids.length < 45);
      page = itemPage(listed, { order, after: page.last_id });
    }
    const all = listed.map(({ id }) => id);
    expect(ids).toEqual(order === "asc" ? all : all.toReversed());
  }
});

test("a page of an empty list, or after an unknown item, is handled", () => {
  const empty = { object: "list", data: [], first_id: "", last_id: "", has_more: false };
  expect(itemPage([], {})).toEqual(empty);
  expect(itemPage(listedItems(itemsOf("Hello"), ID), { after: "msg_none" })).toEqual(empty);
  expectItemList(empty);
});

test("a summary comes back as a message, whatever its text is", () => {
  const item = compactionItem("cmp_1", "Tee für 🐭\n1. x");
  expect(item.encrypted_content).toMatch(/^auspex-summary-1:[\w+/=]+$/);
  const [message, other] = withSummaries([item, { role: "user", content: "Go on" }]);
  expect(message).toMatchObject({
    role: "developer",
    content: [{ text: "Summary of the conversation so far:\n\nTee für 🐭\n1. x" }],
  });
  expect(other).toEqual({ role: "user", content: "Go on" });
});

test("an invalid or unknown compaction item stays unchanged", () => {
  for (const encrypted_content of ["gAAAA", "auspex-summary-1:?", ""]) {
    const item = { type: "compaction", encrypted_content };
    expect(withSummaries([item])).toEqual([item]);
  }
});

test("the request for a summary is the last message", () => {
  const said = { role: "user", content: "Go on" };
  expect(withTask([said])).toMatchObject([said, { role: "user" }]);
});
