/**
 * The journey of a new operator: from an empty deployment to a first answer, along the list of first steps.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, inject, it } from "vitest";
import { listModels } from "../../../runner/src/engines/process/model-folder.ts";
import { Client } from "../../../src/dev/client.ts";
import { publishModel } from "../../../src/dev/seed.ts";
import { OPERATOR_TOKEN } from "../../journey/support/access.ts";
import { Reader } from "../support/reader.ts";
import { fillAccount, PASSWORD, Site } from "../support/site.ts";

const WHO = "hopper";

let site: Site;

beforeAll(async () => {
  site = await Site.open({}, { models: false });
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("an operator sets up, adds a machine, publishes a model and runs it: the steps tick by themselves", async () => {
  const folder = join(site.world.folder, "first");
  cpSync(join(inject("prepared").models, "hello"), join(folder, "hello"), { recursive: true });
  const visitor = await site.visitor();
  await visitor.open("/models");
  await visitor.page.getByText("No models yet").waitFor();
  await visitor.open("/set-up");
  await visitor.page.getByLabel("Operator token").fill("not the one that is asked for");
  await fillAccount(visitor, WHO);
  visitor.expects(401, "/set-up");
  await visitor.page.getByRole("button", { name: "Set up" }).click();
  await visitor.page.getByRole("alert").waitFor();
  await visitor.look();
  const reader = await Reader.at(visitor);
  await reader.follow("Set it up");
  await reader.fill("Operator token", OPERATOR_TOKEN);
  await reader.fill("Username", WHO);
  await reader.fill("Email", `${WHO}@example.com`);
  await reader.fill("Password", PASSWORD);
  await reader.press("Set up");
  await reader.reads("You are now an operator of this deployment");
  await reader.follow("the first steps");

  await reader.press("Create a token for it");
  const start = await reader.in("region", /^Your new runner token/).copy("Copy commands");
  const [runnerToken = ""] = /ausr_\w+/.exec(start) ?? [];
  await reader.follow("Auspex");
  await site.world.runner("desk", { token: runnerToken, models: { owners: [WHO], folder } });
  await reader.sees("heading", "Add a machine (done)");

  await reader.press("Create token");
  const commands = await reader.copy();
  const [token = ""] = /aus_\w+/.exec(commands) ?? [];
  await reader.follow("Auspex");
  await reader.sees("heading", "Run it");
  // The model is published with an image, as `auspex publish` does.
  const [hello] = await listModels(folder);
  if (!hello) throw expect.fail("no model");
  await publishModel(new Client(site.url, token), WHO, hello);
  await reader.sees("heading", "Publish a model (done)");
  await reader.follow(`${WHO}/hello`);
  await reader.fill("name", "Grace");
  await reader.press("Run");
  await reader.reads("Hello, Grace!");
  await reader.follow("Auspex");
  await reader.sees("heading", "Run it (done)");
  await reader.sees("row", new RegExp(`${WHO}/hello version 1 .*succeeded`));
  // The body is extracted from the sample's single quotes, as a shell does.
  const call = await reader.copy();
  const [, body = ""] = /-d '(.*)'$/s.exec(call) ?? expect.fail(call);
  await new Client(site.url, token).fetch("POST", "/predictions", { body: JSON.parse(body) });
  await reader.sees("heading", "Home");
});
