/** The first page: what to do next, which ticks by itself, and what has happened lately. */
import { expect, it } from "vitest";
import { newOperator } from "../support/dashboard-users.ts";
import { NEW_MODEL, NEW_VERSION } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

/** The titles of the steps, those that are done in brackets. */
const stepsIn = (html: string) =>
  [...html.matchAll(/<li( class="done")? data-part="([^"]*)"/g)].map(([, done, title]) =>
    done ? `[${title}]` : title,
  );

it("leads from nothing to a model that answers, and says what there is by then", async () => {
  const { visitor, username } = await signedUp();
  const home = async () => (await visitor.look("/")).html;
  expect(stepsIn(await home())).toEqual(["Publish a model", "Run it", "Call it from anywhere"]);
  await visitor.send("/models/new", NEW_MODEL);
  await visitor.send(`/models/${username}/story/versions/new`, NEW_VERSION);
  const published = await home();
  expect(stepsIn(published)).toEqual(["[Publish a model]", "Run it", "Call it from anywhere"]);
  expect(published).toContain(`href="/models/${username}/story">its playground`);
  const client = await newClient(username);
  const { id } = (await client.create({ model: `${username}/story`, input: {} })).body;
  const overview = await home();
  expect(stepsIn(overview)).toEqual([]);
  expect(overview).toContain(`href="/predictions/${id}"`);
  expect(textOf(overview)).toContain("Your models");
});

it("has machines among the steps of operators alone", async () => {
  const { visitor } = await newOperator();
  const steps = stepsIn((await visitor.look("/")).html);
  expect(steps.map((step) => step?.replace(/[[\]]/g, ""))).toEqual([
    "Add a machine",
    "Publish a model",
    "Run it",
    "Call it from anywhere",
  ]);
  expect(stepsIn((await new Visitor().look("/")).html)).toEqual([]);
});
