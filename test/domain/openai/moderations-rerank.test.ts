/** Rankings and moderations, and the ranking API of TEI. */
import { describe, expect, test } from "vitest";
import {
  moderationOf,
  rankingOf,
  rankingOfTei,
  teiRequestOf,
} from "../../../src/domain/openai/moderations-rerank.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";

const COST = { amount: "0.5", currency: "USD", parts: [] };
const HEAD = { id: "rerank-1", model: "ada/reranker" };
const rank = (index: number, relevance_score: number) => ({ index, relevance_score });

describe("a ranking", () => {
  test("a ranking has the best result first, and at most as many as requested", () => {
    const results = [rank(0, 0.1), { ...rank(1, 0.9), document: { text: "b" } }, rank(2, -3)];
    const told = results.map((one) => ({ document: null, ...one }));
    const output = {
      id: "theirs",
      model: "served",
      meta: null,
      results: told,
      usage: { total_tokens: 7 },
    };
    expect(rankingOf(HEAD, [output], { metrics: null })).toEqual({
      ...HEAD,
      results: [results[1], results[0], results[2]],
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
    expect(rankingOf({ ...HEAD, top_n: 1 }, [output], { metrics: null })).toMatchObject({
      results: [results[1]],
    });
  });

  test("a ranking of a server that counts nothing has the prediction's usage", () => {
    const metrics = { input_tokens: 5, output_tokens: 0 };
    expect(rankingOf(HEAD, [{ results: [] }], { metrics })).toMatchObject({
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
  });

  test.each([["text"], [{ results: [{ index: 0 }] }], [[rank(0, 1)]], [null]])(
    "the output %j is no ranking",
    (output) => {
      expect(() => rankingOf(HEAD, [output], { metrics: null })).toThrow(TranslationFailed);
    },
  );
});

describe("TEI", () => {
  test("a request to TEI has TEI's own fields", () => {
    const documents = ["a", { text: "b" }];
    const asked = { model: "m", query: "q", documents, top_n: 1, truncate: true };
    expect(teiRequestOf(asked)).toEqual({
      query: "q",
      texts: ["a", "b"],
      truncate: true,
      return_text: false,
    });
    expect(teiRequestOf({ ...asked, return_documents: true })).toMatchObject({ return_text: true });
  });

  test("a request to TEI has only texts", () => {
    const documents = ["a", { image: "https://example.com/a.png" }];
    expect(() => teiRequestOf({ query: "q", documents })).toThrow("documents[1]");
  });

  test("a list that TEI answers becomes a ranking", () => {
    const answer: Json = [
      { index: 1, score: 0.9, text: "b" },
      { index: 0, score: 0.1 },
    ];
    expect(rankingOfTei(answer)).toEqual({
      results: [{ ...rank(1, 0.9), document: { text: "b" } }, rank(0, 0.1)],
    });
    expect(rankingOfTei({ error: "full" })).toEqual({ error: "full" });
  });
});

test("a ranking has its cost in its usage, and not the container's", () => {
  const output = { results: [], usage: { prompt_tokens: 2, cost: 3 } };
  expect(rankingOf(HEAD, [output], { metrics: null, cost: COST })).toMatchObject({
    usage: { prompt_tokens: 2, total_tokens: 2, cost: 0.5 },
  });
});

describe("a moderation", () => {
  test("a moderation is the container's, under our name", () => {
    const results = [
      { flagged: true, categories: { violence: true }, category_scores: { violence: 1 } },
    ];
    expect(
      moderationOf({ id: "modr-1", model: "ada/guard" }, [{ id: "theirs", usage: null, results }]),
    ).toEqual({ id: "modr-1", model: "ada/guard", results, usage: {} });
  });

  test("a moderation has its cost in a usage, and not the container's", () => {
    const output = { results: [{ flagged: false }], usage: { prompt_tokens: 2, cost: 3 } };
    expect(moderationOf(HEAD, [output], COST)).toMatchObject({
      usage: { prompt_tokens: 2, cost: 0.5 },
    });
  });

  test.each([["safe"], [{ results: [] }], [{}]])("the output %j is no moderation", (output) => {
    expect(() => moderationOf(HEAD, [output])).toThrow(TranslationFailed);
  });
});
