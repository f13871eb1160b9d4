import { expect, test } from "vitest";
import { accessToConversation } from "../../../src/domain/accounts/access.ts";
import {
  conversationIdIn,
  conversationIdOf,
  duplicateId,
  itemIdOf,
  objectIdOf,
} from "../../../src/domain/openai/conversation.ts";

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
    accessToConversation({ user_id, models }, { user_id: "u", models: used });
  expect(access(null, null)).toBe("granted");
  expect(access(null, ["a"])).toBe("granted");
  expect(access(["a", "b"], ["a"])).toBe("granted");
  expect(access(["a"], ["a", "b"])).toBe("outside token");
  expect(access(["a"], null)).toBe("outside token");
  expect(access(null, null, "other")).toBe("hidden");
});
