/**
 * The journey of a model's owner: a new version, its changes for callers, and a run that is pinned as an
 * example.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { folderDigest } from "../../../runner/src/engines/process/model-folder.ts";
import { Reader } from "../support/reader.ts";
import { OPERATOR, Site } from "../support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.open();
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("an owner publishes a version, sees what it changes for callers, tries it, and pins the run as an example", async () => {
  const runner = await site.world.runner("one");
  const digest = await rewrite(join(site.world.folder, runner.name, "models", "hello"));
  const reader = await Reader.at(await site.visitor({ as: OPERATOR }));
  await reader.follow("Models");
  await reader.follow(`${OPERATOR}/hello`);
  await reader.follow("Versions");
  await reader.follow("New version");
  await reader.tick("Digest");
  await reader.fill("Digest", digest);
  await reader.fill("Release notes", "Greets in your words");
  await reader.tick("Enter here");
  const properties = { name: { type: "string" }, greeting: { type: "string" } };
  await reader.fill(
    "Input",
    JSON.stringify({ type: "object", required: ["greeting"], properties }),
  );
  await reader.press("Publish version");
  const changes = await reader.sees("region", "Changes since version 1");
  expect(changes).toMatch(/added\s+greeting text, required/);
  expect(changes).toMatch(/changed\s+name default "world" → none/);
  expect(changes).not.toMatch(/streamed/);
  await reader.follow("Try it");
  await reader.unfold("More options (1)");
  await reader.fill("name", "Ada");
  await reader.fill("greeting", "Good evening");
  await reader.press("Run");
  await reader.reads("Good evening, Ada");
  await reader.follow("View prediction");
  await reader.press("Pin as an example");

  const stranger = await Reader.at(await site.visitor());
  await stranger.follow("Browse models");
  await stranger.follow(`${OPERATOR}/hello`);
  await stranger.follow("Examples");
  await stranger.follow("Version 2");
  await stranger.reads("Greets in your words");
});

/** Changes the greeting of the model, as its author would. @returns the digest of the changed folder */
async function rewrite(folder: string): Promise<string> {
  const edit = (file: string, from: RegExp, to: string) => {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
  };
  edit("model.mjs", /predict:.*/, 'predict: ({ name, greeting }) => [greeting, name].join(", "),');
  edit("auspex.json", /"properties": {/, '$& "greeting": { "type": "string" },');
  return folderDigest(folder);
}
