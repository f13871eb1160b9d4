/** Conversations as items, and items as lists. */
import { expect, test } from "vitest";
import {
  conversation,
  itemPage,
  itemsOf,
  listedItems,
} from "../../../src/domain/openai/conversation.ts";
import { objections } from "../../published/validate.ts";
import { ID, logOf, tell } from "./response-log.ts";

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
