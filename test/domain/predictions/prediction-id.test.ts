/** Prediction IDs: UUIDv7 in the order of creation, whose last 8 bits are a shard number. */
import { validate, version } from "uuid";
import { expect, test } from "vitest";
import { newPredictionUuid } from "../../../src/domain/predictions/prediction-id.ts";

test("prediction IDs are UUIDv7 of shard 0, and sort by their creation, also within a millisecond", () => {
  const ids = Array.from({ length: 5_000 }, newPredictionUuid);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => validate(id) && version(id) === 7 && id.endsWith("00"))).toBe(true);
});
