/** /find: pages, models, a prediction by its id, the guides. */
import { expect, it } from "vitest";
import { newOperator } from "../support/dashboard-users.ts";
import { FakeRunner } from "../support/runner.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newClient, newWorld, unique } from "../support/world.ts";

const found = (html: string) =>
  [...html.matchAll(/<section><h2>(.*?)<\/h2><ul>(.*?)<\/ul>/g)].map(([, name, list = ""]) => [
    name,
    [...list.matchAll(/href="([^"]*)"/g)].map(([, address]) => address),
  ]);

const find = async (visitor: Visitor, query: string) => {
  const { status, html } = await visitor.look(`/find?q=${encodeURIComponent(query)}`);
  expect(status).toBe(200);
  return Object.fromEntries(found(html));
};

it("begins with where one can go, and one's latest predictions", async () => {
  const { visitor, username } = await signedUp();
  expect((await find(visitor, ""))["Latest predictions"]).toBeUndefined();
  const world = await newWorld({ visibility: "public" });
  const client = await newClient(username);
  const { body } = await client.create({ model: world.model, input: {} });
  const { Pages, "Latest predictions": latest } = await find(visitor, "");
  expect(Pages).toContain("/tokens");
  expect(latest).toEqual([`/predictions/${body.id}`]);
});

it("has models by name, the own private ones too, and pages of the guides", async () => {
  const { visitor, username } = await signedUp();
  const client = await newClient(username);
  const name = unique("whisper");
  const other = await newWorld({ visibility: "private" });
  await client.ok("POST", "/v1/models", { name, visibility: "private", description: "Hears <b>" });

  expect(await find(visitor, name)).toEqual({ Models: [`/models/${username}/${name}`] });
  expect((await find(visitor, other.model)).Models ?? []).not.toContain(`/models/${other.model}`);
  expect((await find(new Visitor(), name)).Models).toBeUndefined();
  const { Documentation } = await find(visitor, "verify a signature");
  expect(Documentation?.[0]).toMatch(/^\/docs\/webhooks/);
  const { html } = await visitor.look(`/find?q=${name}`);
  expect(html).toContain("Hears &lt;b&gt;");
});

it("has a prediction by its id, for whoever ran it", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const { visitor, username } = await signedUp();
  expect(await find(visitor, id)).toEqual({});
  const client = await newClient(username);
  const shared = await newWorld({ visibility: "public" });
  const { body } = await client.create({ model: shared.model, input: {} });
  expect(await find(visitor, ` ${body.id.toUpperCase()} `)).toEqual({
    Predictions: [`/predictions/${body.id}`],
  });
  const end = body.id.slice(-12);
  for (const shown of [`…${end}`, `...${end}`, end, body.id.slice(-9), body.id.slice(0, -1)])
    expect(await find(visitor, shown)).toEqual({ Predictions: [`/predictions/${body.id}`] });
  expect(await find(visitor, body.id.slice(-7))).toEqual({});
  for (const text of [body.id, end]) expect(await find(new Visitor(), text)).toEqual({});
});

it("has runners and users by name, for operators", async () => {
  const [operator, world] = [await newOperator(), await newWorld()];
  const name = unique("rack");
  const { id } = await FakeRunner.begin(world.runnerToken, world.hardware, name);
  const { visitor, username } = await signedUp();
  expect((await find(operator.visitor, name.slice(1).toUpperCase())).Runners).toEqual([
    `/fleet/runners/${id}`,
  ]);
  expect((await find(operator.visitor, username)).Users).toEqual([`/users/${username}`]);
  expect(await find(visitor, name)).toEqual({});
  expect((await find(visitor, username)).Users).toBeUndefined();
});

it("signs out, with a form", async () => {
  const { visitor } = await signedUp();
  const { html } = await visitor.look("/find?q=sign+out");
  expect(html).toMatch(/<form method="post" action="\/sign-out">.*?<bdi>Sign out<\/bdi>/s);
  expect((await new Visitor().look("/find?q=sign+out")).html).not.toContain('action="/sign-out"');
});

it("says what to try where nothing is called so", async () => {
  const { html } = await new Visitor().look("/find?q=zzzzzzzz");
  expect(html).toContain("Nothing is called that.");
});
