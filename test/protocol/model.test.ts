/** The configuration of a version. */
import { expect, test } from "vitest";
import { configuration } from "../../src/protocol/model.ts";

test.each([
  ["openai", "vendora"],
  ["vendora", "vendora"],
  ["cog", "cog"],
])("the interface %s is stored as %s", (written, stored) => {
  expect(configuration.parse({ interface: written })).toEqual({ interface: stored });
});

test("an unknown interface is refused", () => {
  expect(configuration.safeParse({ interface: "tgi" }).success).toBe(false);
});
