import { expect, test } from "vitest";
import { asHistory, LOST } from "../../../src/domain/backups/history-row.ts";
import type { StoredPrediction } from "../../../src/protocol/backup.ts";

const AT = 1_000_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const row: StoredPrediction = {
  id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  object_id: "o",
  model_id: "m",
  model_owner: "ada",
  model_name: "story",
  version_number: 1,
  deployment_id: null,
  deployment: null,
  release: null,
  stream: 0,
  status: "succeeded",
  created_at: 1,
  updated_at: 2,
  setup_time: 0.5,
  cost_parts: null,
  cost: 3,
  execution_time: 1.5,
  error: null,
  metrics: null,
  data_removed: 0,
  revision: 9,
  token_id: "",
  token_name: "",
  client_id: "",
  maker: "",
  created_by: null,
  hardware: "cpu",
  due_at: 77,
  kept_seconds: null,
  waits_again: 0,
};

const left = (change: Partial<StoredPrediction>) => asHistory({ ...row, ...change }, AT, DAY_MS);

test("the history row of an ended prediction keeps everything but its data, and its due time", () => {
  expect(left({})).toEqual({ ...row, data_removed: 1 });
});

test("the history row of a short run, or of one without data, has nothing to delete in R2", () => {
  expect(left({ kept_seconds: 60, due_at: null })).toMatchObject({
    kept_seconds: null,
    due_at: null,
  });
  expect(left({ data_removed: 1, due_at: null })).toMatchObject({ data_removed: 1, due_at: null });
});

test.each(["pending", "started"] as const)(
  "the history row of a prediction that is %s says that it has failed",
  (status) => {
    expect(left({ status })).toEqual({
      ...row,
      status: "failed",
      error: LOST,
      cost: 0,
      updated_at: AT,
      data_removed: 1,
      due_at: AT + DAY_MS + HOUR_MS,
    });
    expect(left({ status, updated_at: AT + 5 }).updated_at).toBe(AT + 5);
  },
);
