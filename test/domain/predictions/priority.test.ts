/** The priority of a prediction, from the requested one and the limit of its token. */
import { expect, test } from "vitest";
import { priorityOf } from "../../../src/domain/accounts/access.ts";
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
])("a request for priority %s with a token limited to %s gets %s", (asked, held, given) => {
  expect(priorityOf(asked, held)).toBe(given);
});
