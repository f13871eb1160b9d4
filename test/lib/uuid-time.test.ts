import { v7 as uuid } from "uuid";
import { expect, test } from "vitest";
import { firstIdAt } from "../../src/lib/hex.ts";

test("a time's boundary separates the IDs that were made before it from those after it", () => {
  const moment = 1_795_430_742_123;
  expect(uuid({ msecs: moment - 1 }) < firstIdAt(moment)).toBe(true);
  expect(uuid({ msecs: moment }) > firstIdAt(moment)).toBe(true);
  expect(uuid() > firstIdAt(-1)).toBe(true);
});
