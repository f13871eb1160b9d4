/** A conversation as it is kept over a reload. */
import { expect, test } from "vitest";
import {
  type AssistantTurn,
  beforeLastMessage,
  historyText,
  isBusy,
  newAnswer,
  openCalls,
  readHistory,
  type Turn,
  withoutAnswer,
} from "../../../src/dashboard/playground/chat/conversation.ts";

const QUESTION: Turn = {
  role: "user",
  text: "Who?",
  pictures: [{ url: "u", name: "n", preview: "p" }],
};
const ANSWER: AssistantTurn = {
  ...newAnswer(1),
  prediction: "id",
  state: "done",
  text: "The Hatter",
  calls: [{ id: "a", name: "b", arguments: "{}" }],
  usage: { input: 1, output: 2 },
  firstMs: 3,
  totalMs: 4,
  problem: "cut",
};

test("a conversation comes back unchanged", () => {
  const kept = { system: "s", tools: "t", turns: [QUESTION, ANSWER] };
  expect(readHistory(historyText(kept))).toEqual(kept);
});

test("an answer that was never sent is stopped, and one on its way goes on", () => {
  const turns: Turn[] = [newAnswer(1), { ...newAnswer(1), prediction: "id" }];
  const read = readHistory(historyText({ system: "", tools: "", turns }));
  expect(read?.turns.map((turn) => turn.role === "assistant" && turn.state)).toEqual([
    "stopped",
    "running",
  ]);
});

test("a conversation that is too long loses its beginning", () => {
  const long: Turn = { role: "user", text: "x".repeat(400_000), pictures: [] };
  const text = historyText({ system: "s", tools: "", turns: [long, long, long, QUESTION] });
  expect(readHistory(text)?.turns).toEqual([long, long, QUESTION]);
});

test("any other text is no history", () => {
  for (const text of [null, "", "[", "[]", "{}", '{"turns":[],"system":1,"tools":""}'])
    expect(readHistory(text)).toBeUndefined();
});

test("open calls, busy answers and earlier turns of a conversation are found", () => {
  expect(isBusy([QUESTION, newAnswer(1)])).toBe(true);
  expect(isBusy([QUESTION, ANSWER])).toBe(false);
  expect(openCalls([QUESTION, ANSWER])).toEqual(ANSWER.calls);
  expect(openCalls([QUESTION, { ...ANSWER, state: "stopped" }])).toEqual([]);
  expect(withoutAnswer([QUESTION, ANSWER])).toEqual([QUESTION]);
  expect(withoutAnswer([QUESTION])).toEqual([QUESTION]);
  expect(beforeLastMessage([ANSWER, QUESTION, ANSWER, ANSWER])).toEqual({
    before: [ANSWER],
    message: QUESTION,
  });
});
