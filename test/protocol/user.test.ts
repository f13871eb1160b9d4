/** Reserved usernames. */
import { expect, test } from "vitest";
import { chosenUsername } from "../../src/protocol/user.ts";

test.each([
  "openai",
  "replicate",
  "admin",
  "operator",
  "auspex",
  "auspex-team",
  "api",
  "www",
  "support",
  "new",
])("the username %s is reserved, because others would take it for the service", (name) => {
  expect(chosenUsername.safeParse(name).error?.issues[0]?.message).toContain("reserved");
});

test.each(["ada", "administer", "supporter", "api-fan"])(
  "the username %s can be chosen",
  (name) => {
    expect(chosenUsername.safeParse(name).success).toBe(true);
  },
);
