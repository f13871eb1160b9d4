/** The gallery of models, without client code. */
import { expect, it } from "vitest";
import { NEW_VERSION, owner } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";

it("the gallery shows what a model makes, and filters by it", async () => {
  const { visitor, username, path } = await owner();
  await visitor.send(`${path}/versions/new`, {
    ...NEW_VERSION,
    output: '{"type": "string", "format": "uri", "title": "Depth map"}',
  });
  const look = async (query: string) => (await new Visitor().look(`/models${query}`)).html;
  expect(textOf(await look(`?q=${username}`))).toMatch(/story Pictures 0 predictions published/);
  expect(textOf(await look(`?q=${username}`))).toContain("1 model found");
  expect(await look("?category=makes%3Apictures")).toContain(`href="${path}"`);
  expect(await look("?category=makes%3Apictures")).toContain(
    '<option value="makes:pictures" selected="">Pictures</option>',
  );
  expect(await look("?category=makes%3Atext")).not.toContain(`href="${path}"`);
  expect(textOf(await look("?q=nothing-is-called-so"))).toContain("No models found");
});

it("the gallery draws the same picture for the same name, and another for another", async () => {
  const { visitor, username } = await owner();
  await visitor.send("/models/new", {
    ...NEW_VERSION,
    name: "saga",
    visibility: "public",
    description: "",
    overview: "",
  });
  const drawn = async () => {
    const { html } = await new Visitor().look(`/models/${username}`);
    expect(html).not.toContain("<img");
    return [...html.matchAll(/<svg class="model-picture tiles".*?<\/svg>/gs)].map(([svg]) => svg);
  };
  const [one, other, ...more] = await drawn();
  expect(more).toEqual([]);
  expect(one).not.toBe(other);
  expect(await drawn()).toEqual([one, other]);
});
