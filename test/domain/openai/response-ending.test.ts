/** The status of a response whose container does not state whether it is complete. */
import { expect, test } from "vitest";
import { limitOf } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { delta, done, logOf, tell } from "./response-log.ts";

const METRICS = { input_tokens: 9, output_tokens: 3 };
const ESTIMATE = { ...METRICS, tokens_estimated: 1 };
const message = { type: "message", content: [{ type: "output_text", text: "Once" }] };
const OWN = { object: "response", output: [message] };

test.each<[string, Json[], number, Json]>([
  ["as long as it may be", ["Once"], 3, METRICS],
  ["longer than it may be", ["Once"], 2, METRICS],
  ["that its container gives an empty reason", [delta({ content: "Once" }, "")], 3, METRICS],
  ["in events that do not tell the end", [{ type: "response.created" }], 3, METRICS],
  ["of its container's own, without a status", [OWN], 3, METRICS],
])("a response %s is incomplete", (_, outputs, max_output_tokens, metrics) => {
  const { types, resource } = tell(logOf(outputs, done({ metrics })), { max_output_tokens });
  expect(types.at(-1)).toBe("response.incomplete");
  expect(resource).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
    completed_at: null,
  });
});

test.each<[string, Json[], number | undefined, Json]>([
  ["shorter than it may be", ["Once"], 4, METRICS],
  ["that may be of any length", ["Once"], undefined, METRICS],
  ["whose length is an estimate", ["Once"], 3, ESTIMATE],
  ["whose length nobody knows", ["Once"], 3, null],
  ["that its container calls whole", [delta({ content: "Once" }, "stop")], 3, METRICS],
  [
    "that it has called whole before",
    [delta({ content: "Once" }, "stop"), delta({}, ""), delta({})],
    3,
    METRICS,
  ],
  ["of its container's own, completed", [{ ...OWN, status: "completed" }], 3, METRICS],
])("a response %s is completed", (_, outputs, limit, metrics) => {
  const { types, resource } = tell(logOf(outputs, done({ metrics })), {
    ...(limit !== undefined && { max_output_tokens: limit }),
  });
  expect(types.at(-1)).toBe("response.completed");
  expect(resource).toMatchObject({ status: "completed", incomplete_details: null });
});

test.each([
  [{ max_tokens: 5 }, 5],
  [{ max_completion_tokens: 6, max_tokens: 5 }, 6],
  [{ max_completion_tokens: null, max_tokens: 5 }, 5],
  [{ max_output_tokens: 7 }, 7],
  [{}, undefined],
  [{ max_tokens: 0 }, undefined],
  [{ max_tokens: -1 }, undefined],
  [{ max_tokens: "5" }, undefined],
  [{ max_tokens: null }, undefined],
])("the limit of %j is %j", (request, limit) => {
  expect(limitOf(request)).toBe(limit);
});
