/** The name that a model gets from its folder. */
import { expect, test } from "vitest";
import { modelNameOf } from "../../../src/cli/commands/init.ts";

test.each([
  ["story", "story"],
  ["my_story.v2", "my_story.v2"],
  ["Bad Name!", "bad-name"],
  [".hidden -- folder...", "hidden-folder"],
  ["Café", "cafe"],
  ["a..b___c", "a-b-c"],
])("the folder %s gives the model name %s", (folder, name) => {
  expect(modelNameOf(folder)).toBe(name);
});

test.each(["日本", "日本 model", "Straße", "!!!", "", "a".repeat(64)])(
  "the folder %s gives no model name",
  (folder) => {
    expect(modelNameOf(folder)).toBeUndefined();
  },
);
