/** Which priority a prediction gets, by what it asks for and what its token is held to. */
import { expect, test } from "vitest";
import { priorityOf } from "../../../src/domain/predictions/priority.ts";
import type { Priority } from "../../../src/protocol/common.ts";

test.each<[Priority | undefined, Priority | null, Priority | undefined]>([
  [undefined, null, "normal"],
  ["high", null, "high"],
  [undefined, "high", "high"],
  [undefined, "low", "low"],
  ["low", "normal", "low"],
  ["normal", "normal", "normal"],
  ["high", "normal", undefined],
  ["normal", "low", undefined],
])("%s of a token that is held to %s: %s", (asked, held, given) => {
  expect(priorityOf(asked, held)).toBe(given);
});
