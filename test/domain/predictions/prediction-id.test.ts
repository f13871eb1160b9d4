/** Prediction IDs: UUIDv7 in the order of creation, whose last 8 bits are a shard number. */
import { validate, version } from "uuid";
import { expect, test } from "vitest";
import { newPredictionUuid, shardOf } from "../../../src/domain/predictions/prediction-id.ts";

test("the shard is 0 today", () => {
  expect(shardOf(newPredictionUuid())).toBe(0);
});

test.each([0, 1, 15, 16, 255])(
  "an ID of shard %i has this shard number and is a UUIDv7",
  (shard) => {
    const id = newPredictionUuid(shard);
    expect(shardOf(id)).toBe(shard);
    expect(validate(id)).toBe(true);
    expect(version(id)).toBe(7);
  },
);

test("IDs of all shards sort by their creation, also within a millisecond", () => {
  const ids = Array.from({ length: 5_000 }, (_, n) => newPredictionUuid((n * 97) % 256));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});
