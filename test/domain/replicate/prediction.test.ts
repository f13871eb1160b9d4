/** Predictions, events, times and versions in Replicate's shape. */
import { describe, expect, test } from "vitest";
import { replicateEvent } from "../../../src/domain/replicate/events.ts";
import {
  cancelAfterIn,
  type ReplicateFacts,
  replicateHead,
  webhookIn,
} from "../../../src/domain/replicate/prediction.ts";
import { replicateVersion, versionIdOf } from "../../../src/domain/replicate/versions.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";

const CREATED = "2026-11-20T10:00:00.000Z";
const ENDED = "2026-11-20T10:00:09.000Z";
const FACTS: ReplicateFacts = {
  origin: "https://auspex.test",
  model_id: "m",
  token_id: "t",
  data_removed: false,
  started_at: null,
};

const head = (changes: Partial<Prediction>, facts: Partial<ReplicateFacts> = {}) =>
  replicateHead(
    {
      id: "p",
      model: { owner: "ada", name: "story", version_number: 3 },
      created_at: CREATED,
      updated_at: ENDED,
      status: "pending",
      setup_time: null,
      execution_time: null,
      error: null,
      metrics: null,
      cost: null,
      url: "https://auspex.test/v1/predictions/p",
      stream: false,
      created_by: null,
      ...changes,
    },
    { ...FACTS, ...facts },
  );

describe("the status", () => {
  const late = Date.parse(ENDED) - 1;
  const statuses: [Partial<Prediction>, Partial<ReplicateFacts>, string][] = [
    [{ status: "pending" }, {}, "starting"],
    [{ status: "started" }, { started_at: 1 }, "processing"],
    [{ status: "started" }, { started_at: null }, "starting"],
    [{ status: "started" }, { started_at: 1, waited: true }, "starting"],
    [{ status: "succeeded" }, { waited: true }, "succeeded"],
    [{ status: "failed" }, {}, "failed"],
    [{ status: "canceled" }, {}, "canceled"],
    [{ status: "canceled" }, { cancel_at: late + 2_000 }, "canceled"],
    [{ status: "canceled" }, { cancel_at: late }, "aborted"],
    [{ status: "canceled", execution_time: "1.000" }, { cancel_at: late }, "canceled"],
  ];
  test.each(statuses)("%o with %o is shown as %s", (changes, facts, status) => {
    expect(head(changes, facts).status).toBe(status);
  });
});

test("the end of a prediction tells when it ran, for how long, and its counts of tokens", () => {
  const metrics = { input_tokens: 2, output_tokens: 7, loops: 1 };
  expect(head({ status: "succeeded", execution_time: "4.000", metrics })).toMatchObject({
    started_at: "2026-11-20T10:00:05.000Z",
    completed_at: ENDED,
    metrics: {
      predict_time: 4,
      total_time: 9,
      input_token_count: 2,
      output_token_count: 7,
      loops: 1,
    },
  });
});

test("a webhook has Replicate's default events, and its events have our names", () => {
  const webhook = "https://example.com/hook";
  expect(webhookIn({ webhook })).toEqual({ url: webhook, events: ["output", "completed"] });
  expect(webhookIn({ webhook, webhook_events_filter: ["start", "logs", "output"] })).toEqual({
    url: webhook,
    events: ["started", "output"],
  });
  expect(webhookIn({ webhook_completed: webhook })).toEqual({
    url: webhook,
    events: ["completed"],
  });
  expect(webhookIn({ webhook: null })).toBeNull();
});

test.each([
  ["90", 90],
  ["30s", 30],
  ["5m", 300],
  ["1h30m45s", 5_445],
  ["4", undefined],
  ["25h", undefined],
  ["", undefined],
  ["soon", undefined],
])("Cancel-After: %s is %s seconds", (header, seconds) => {
  expect(cancelAfterIn(header)).toBe(seconds);
});

describe("events", () => {
  test.each([
    ["output", '"a\\nb"', "id: 4\nevent: output\ndata: a\ndata: b\n\n"],
    ["output", '{"a":1.0}', 'id: 4\nevent: output\ndata: {"a":1.0}\n\n'],
    ["output", '""', ""],
    ["output", "null", ""],
    ["logs", '"line\\n"', "id: 4\nevent: logs\ndata: line\ndata: \n\n"],
    ["done", '{"status":"succeeded"}', "id: 4\nevent: done\ndata: {}\n\n"],
    ["done", '{"status":"canceled"}', 'id: 4\nevent: done\ndata: {"reason":"canceled"}\n\n'],
    ["setup", '{"phase":"ready"}', ""],
  ])("%s with %s becomes Replicate's text", (event, data, text) => {
    expect(replicateEvent("4", event, data)).toBe(text);
  });
});

test("a version's schemas are those of a Cog server, and its ID does not depend on the image", () => {
  const schemas = {
    prediction: {
      input: { $ref: "#/components/schemas/In" },
      output: { type: "array", items: { type: "string" } },
      stream_output: true,
    },
    components: { schemas: { In: { type: "object" } } },
  };
  const version = replicateVersion({ model_id: "m", number: 3, created_at: 0, schemas });
  expect(version.id).toBe(versionIdOf("m", 3));
  expect(version.openapi_schema).toMatchObject({
    components: {
      schemas: {
        In: { type: "object" },
        Input: { $ref: "#/components/schemas/In" },
        Output: { type: "array", "x-cog-array-type": "iterator" },
      },
    },
  });
});
