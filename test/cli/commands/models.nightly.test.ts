/** Questions of the commands about models that are rarely asked, and Ctrl+C as the answer. */
import { expect, test } from "vitest";
import { DIGEST, deletes, deployment, home, useModels } from "../support/models-bed.ts";
import { inTerminal } from "../support/terminal.ts";

useModels();

test("the question about the latest version says which version calls get then", async () => {
  const deleting = async (version: string, after: RegExp) => {
    const { code } = await inTerminal(home, ["versions", "delete", version], { keys: "n", after });
    expect(code).toBe(1);
  };
  await deleting("ada/story:1", /Delete ada\/story:1\? It is the only version\./);
  const version = { image: DIGEST, release_notes: "More" };
  deployment.models.get("story")?.versions.push(version, version);
  await deleting("ada/story:3", /The default becomes ada\/story:2\./);
  await deleting("ada/story:1", /Delete ada\/story:1\?\s/);
});

test("Ctrl+C as the answer deletes nothing", async () => {
  const asked = { keys: "\u0003", after: /Delete ada\/story \(private/ };
  const ended = await inTerminal(home, ["models", "delete", "ada/story"], asked);
  expect(ended).toMatchObject({ code: 130 });
  expect(deletes()).toBe(0);
});
