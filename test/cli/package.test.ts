import { expect, test } from "vitest";
import { requireNode } from "../../src/cli/folders.ts";

test.each(["22.13.0", "22.20.0", "24.0.0", "100.0.0"])("the command runs on Node %s", (version) => {
  expect(() => requireNode(version)).not.toThrow();
});

test.each(["22.12.0", "22.2.0", "20.20.2", "9.0.0"])(
  "the command says which Node it needs on %s",
  (version) => {
    expect(() => requireNode(version)).toThrow(
      `This is Node ${version}, and auspex needs 22.13 or newer.`,
    );
  },
);
