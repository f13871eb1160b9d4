/** The first page: the next steps, which are ticked automatically, and recent events. */
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { newOperator } from "../support/dashboard-users.ts";
import { NEW_MODEL, NEW_VERSION } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { signedUp } from "../support/visitor.ts";
import { newClient, newWorld } from "../support/world.ts";

/** Titles of the steps; those in brackets are done. */
const CHOOSE = "Choose a model, or publish one";

const stepsIn = (html: string) =>
  [...html.matchAll(/<li(?: class="(done|later)[^"]*")? data-part="([^"]*)"/g)].map(
    ([, state, title]) => (state === "done" ? `[${title}]` : title),
  );

it("the page leads from nothing to a model that programs call, and then has an overview", async () => {
  const { visitor, username } = await signedUp();
  const home = async () => (await visitor.look("/")).html;
  expect(stepsIn(await home())).toEqual([CHOOSE, "Run it", "Call it from anywhere"]);
  await visitor.send("/models/new", NEW_MODEL);
  await visitor.send(`/models/${username}/story/versions/new`, NEW_VERSION);
  const published = await home();
  expect(stepsIn(published)).toEqual([`[${CHOOSE}]`, "Run it", "Call it from anywhere"]);
  expect(published).toContain(`href="/models/${username}/story">its playground`);
  expect(published).toContain(`&quot;model&quot;: &quot;${username}/story&quot;`);
  const client = await newClient(username);
  const { id } = (await client.create({ model: `${username}/story`, input: {} })).body;
  const overview = await home();
  expect(stepsIn(overview)).toEqual([]);
  expect(overview).toContain(`href="/predictions/${id}"`);
  expect(textOf(overview)).toContain("Your models");
  await client.cancel(id);
  // The prediction tells its account a moment later that it has ended.
  await vi.waitFor(async () =>
    expect(textOf(await home())).toMatch(/This month .*Predictions 1 Failed 0/),
  );
});

it("neither a token nor a run of the dashboard counts as a call, and an own model is no step for users", async () => {
  const { visitor, username } = await signedUp();
  const owner = await signedUp();
  const path = `${owner.username}/story`;
  await owner.visitor.send("/models/new", { ...NEW_MODEL, visibility: "public" });
  await owner.visitor.send(`/models/${path}/versions/new`, NEW_VERSION);
  const client = await newClient(username);
  await client.ok("GET", "/v1/user");
  expect((await visitor.look("/")).html).toContain("Publish or pick a model");
  await env.DB.prepare("UPDATE listings SET predictions_count = 1").run();
  expect((await visitor.look("/")).html).toContain("&quot;model&quot;: &quot;");
  await visitor.look(`/models/${path}`);
  expect((await visitor.send(`/models/${path}`, { version: "1", input: "{}" })).status).toBe(303);
  const { html } = await visitor.look("/");
  expect(stepsIn(html)).toEqual([`[${CHOOSE}]`, "[Run it]", "Call it from anywhere"]);
  expect(html).toContain(`&quot;model&quot;: &quot;${path}&quot;`);
  await client.create({ model: path, input: {} });
  expect(stepsIn((await visitor.look("/")).html)).toEqual([]);
  const owners = await newClient(owner.username);
  await owners.ok("PATCH", `/v1/models/${path}`, { visibility: "private" });
  expect((await visitor.look("/")).status).toBe(200);
});

it("an operator's home says so when it counts only the newest runners of a large fleet", async () => {
  const { visitor } = await newOperator();
  await (await newWorld()).runner();
  await env.DB.prepare(
    `INSERT INTO runners (id, token_id, name, hardware, pool, created_at, updated_at)
      SELECT 'many' || value, (SELECT token_id FROM runners), 'many' || value, '["many"]', 'many', 0, 0
      FROM json_each(?)`,
  )
    .bind(JSON.stringify([...Array(201).keys()]))
    .run();
  expect(textOf((await visitor.look("/")).html)).toContain("Runners online 0 of the newest 200");
});
