/** /find: models, pages, and a search of the docs. */
import { expect, it } from "vitest";
import { newOperator } from "../support/dashboard-users.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newClient, newWorld, unique } from "../support/world.ts";

const find = async (visitor: Visitor, query: string) => {
  const { status, html } = await visitor.look(`/find?q=${encodeURIComponent(query)}`);
  expect(status).toBe(200);
  const groups = [...html.matchAll(/<section><h2[^>]*>(.*?)<\/h2><ul>(.*?)<\/ul>/g)];
  const found = groups.map(([, name, list = ""]) => [
    name,
    ...[...list.matchAll(/href="([^"]*)"/g)].map(([, address]) => address),
  ]);
  // Each query leads to a search of the docs as well.
  if (query !== "")
    expect(found.pop()).toEqual([
      "Docs",
      `/docs/search?${new URLSearchParams({ q: query.trim() })}`,
    ]);
  return found;
};

it("/find without a query lists the pages that the visitor may open", async () => {
  const { visitor } = await signedUp();
  const [pages] = await find(visitor, "");
  expect(pages).toContain("/tokens");
  expect(pages).not.toContain("/sign-in");
  expect(pages).not.toContain("/fleet");
  expect(await find(new Visitor(), "")).toEqual([["Pages", "/", "/models", "/docs", "/sign-in"]]);
  expect((await find((await newOperator()).visitor, ""))[0]).toContain("/fleet");
});

it.each([
  ["billing", ["/account/usage"]],
  ["API KEY", ["/tokens"]],
  ["  exp  acc ", ["/account/data"]],
  ["new token", ["/tokens"]],
  ["runner", []],
])("/find leads from %j to %j", async (query, addresses) => {
  const { visitor } = await signedUp();
  const [pages = ["Pages"]] = await find(visitor, query);
  expect(pages).toEqual(["Pages", ...addresses]);
});

it("/find lists models before pages, private ones for their owner only", async () => {
  const { visitor, username } = await signedUp();
  const client = await newClient(username);
  const name = unique("usage");
  const other = await newWorld({ visibility: "private" });
  await client.ok("POST", "/v1/models", { name, visibility: "private", description: "Hears <b>" });
  expect(await find(visitor, "usage")).toEqual([
    ["Models", `/models/${username}/${name}`],
    ["Pages", "/account/usage"],
  ]);
  expect(await find(visitor, other.model)).toEqual([]);
  expect(await find(new Visitor(), name)).toEqual([]);
  const { html } = await visitor.look(`/find?q=${name}`);
  expect(html).toContain("Hears &lt;b&gt;");
});
