/** Examples of a model in the playground, on their page and as its picture. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { outputFile } from "../support/examples.ts";
import { textOf } from "../support/page-text.ts";
import { newShown } from "../support/shown-examples.ts";
import { Visitor } from "../support/visitor.ts";
import { DIGEST } from "../support/world.ts";

test("an example needs an own prediction that has succeeded, is small and is not pinned yet", async () => {
  const { run, pin, client, reference } = await newShown();
  const waiting = (await client.create({ model: reference, input: {} })).body.id;
  expect((await pin(waiting)).status).toBe(409);
  await client.cancel(waiting);
  const other = await newShown();
  expect((await pin(await other.run({}, () => "out"))).status).toBe(404);
  const large = await run({}, () => "x".repeat(100_001));
  expect(textOf((await pin(large)).html)).toContain("Its output is too large for an example");
  const id = await run({}, () => "out");
  expect((await pin(id)).status).toBe(303);
  expect(textOf((await pin(id)).html)).toContain("This prediction is already an example.");
});

test("examples of a model have an order, and are at most 12", async () => {
  const { run, pin, ids, visitor, all, read, model } = await newShown();
  for (const text of ["first", "second"]) await pin(await run({}, () => text));
  expect(textOf(await read())).toMatch(/first .* second/);
  const [, second = ""] = await ids();
  expect((await visitor.send(`${all}/${second}/up`)).status).toBe(303);
  expect(textOf(await read())).toMatch(/second .* first/);
  await env.DB.batch(
    Array.from({ length: 10 }, (_, n) =>
      env.DB.prepare(
        "INSERT INTO examples VALUES (?, ?, ?, ?, 1, '{}', 'null', NULL, 0, NULL)",
      ).bind(crypto.randomUUID(), model.id, n + 10, `run ${n}`),
    ),
  );
  expect(textOf((await pin(await run({}, () => "more"))).html)).toContain("at most 12 examples");
});

test("the playground offers examples: a chosen one fills the form, and its output names its author", async () => {
  const { run, pin, ids, visitor, path, username } = await newShown();
  await pin(await run({ prompt: "a <cat>" }, () => ["It ", "purrs"]));
  await pin(await run({}, () => "x".repeat(20_000)));
  const [first = "", second = ""] = await ids();
  for (const by of [visitor, new Visitor()]) {
    const { html } = await by.look(path);
    const [, nav = ""] = /<nav[^>]*data-examples[^>]*>(.*?)<\/nav>/s.exec(html) ?? [];
    expect(textOf(nav).trim()).toBe("Examples a &lt;cat&gt; It purrs Example 2");
    expect(nav).toContain(`<a href="${path}?example=${first}" aria-current="page">`);
    // The first example is shown before any is chosen.
    expect(textOf(html)).toContain("Example by");
    const chosen = (await by.look(`${path}?example=${first}`)).html;
    expect(chosen).toContain("a &lt;cat&gt;</textarea>");
    expect(textOf(chosen)).toContain(`Example by ${username} · Version 1 · 1.5 s It purrs`);
    expect((await by.look(`${path}?example=${second}`)).html).toContain("x".repeat(20_000));
    // An unknown ID stands for an example of another model, or a deleted one.
    const gone = await by.look(`${path}?example=${crypto.randomUUID()}`);
    expect([gone.status, textOf(gone.html).includes("Example by")]).toEqual([200, false]);
  }
  const asJson = (await visitor.look(`${path}?example=${first}`)).html;
  expect(asJson).toMatch(/example=[0-9a-f-]{36}&amp;as=json/);
});

test("the first pinned picture is the model's, until its owner chooses another or none", async () => {
  const { run, pin, ids, read, visitor, path, all } = await newShown();
  await pin(await run({}, () => "no picture"));
  for (const name of ["one", "two"]) {
    const id = await run({}, (of) => `${ORIGIN}/v1/files/${of}/${name}.png`);
    await outputFile(id, `${name}.png`, name, "image/png");
    await pin(id);
  }
  const [none = "", one = "", two = ""] = await ids();
  const inGallery = async () => {
    const { html } = await new Visitor().look(`/models/${path.split("/")[2]}`);
    return [one, two].filter((id) => html.includes(`/v1/files/${id}/`));
  };
  /** Returns the numbers of the examples that the page marks as the model's picture. */
  const said = async () =>
    [...textOf(await read(visitor)).matchAll(/Example (\d) [^·]*· [^ ]* s · Cover image/g)].map(
      ([, n]) => n,
    );
  expect([await inGallery(), await said()]).toEqual([[one], ["2"]]);
  expect(await read()).not.toContain("· Cover image");
  await visitor.send(`${all}/${two}/cover`);
  expect([await inGallery(), await said()]).toEqual([[two], ["3"]]);
  // The other picture replaces the removed one.
  await visitor.send(`${all}/${two}/unpin`);
  expect([await inGallery(), await said()]).toEqual([[one], ["2"]]);
  await visitor.send(`${all}/${one}/cover`, { is_cover: "false" });
  expect([await inGallery(), await said()]).toEqual([[], []]);
  const again = await run({}, (of) => `${ORIGIN}/v1/files/${of}/three.png`);
  await outputFile(again, "three.png", "three", "image/png");
  await pin(again);
  expect([await inGallery(), await said()]).toEqual([[], []]);
  expect((await visitor.send(`${all}/${none}/cover`)).status).toBe(409);
});

test("the page of an example says if it or its version was deleted, to visitors too", async () => {
  const { run, pin, ids, visitor, path, client, reference } = await newShown();
  await pin(await run({ prompt: "a cat" }, () => "purrs"));
  const [id = ""] = await ids();
  const looks = async (query: string) =>
    Promise.all([visitor, new Visitor()].map(async (by) => textOf((await by.look(query)).html)));
  for (const text of await looks(path)) expect(text).toContain("Example by");
  const schemas = { prediction: { input: {}, output: {} } };
  const version = { release_notes: "", container_image_digest: DIGEST, schemas };
  await client.ok("POST", `/v1/models/${reference}/versions`, version);
  for (const text of await looks(`${path}?example=${id}`)) expect(text).not.toContain("deleted");
  await client.ok("DELETE", `/v1/models/${reference}/versions/1`);
  for (const text of await looks(`${path}?example=${id}`)) {
    expect(text).toContain("ran on version 1, which was deleted. You are viewing version 2.");
    expect(text).toContain("Example by");
  }
  const all = (await visitor.look(`${path}/examples`)).html;
  expect(textOf(all)).toContain("Version 1 (deleted)");
  expect(all).not.toContain("/versions/1");
  await client.ok("DELETE", `/v1/models/${reference}/examples/${id}`);
  for (const text of await looks(`${path}?example=${id}`))
    expect(text).toContain("Example not found.");
});

test("a page of examples shortens large values, but shows all files", async () => {
  const { run, pin, read, ids, path } = await newShown();
  await pin(await run({ prompt: "p".repeat(20_000) }, () => "x".repeat(50_000)));
  await pin(await run({}, () => Array.from({ length: 400 }, () => "pieces of a text")));
  const names = Array.from({ length: 20 }, (_, n) => `${n}-${"long".repeat(20)}.png`);
  const id = await run({}, (of) => names.map((name) => `${ORIGIN}/v1/files/${of}/${name}`));
  for (const name of names) await outputFile(id, name, name, "image/png");
  await pin(id);
  const html = await read();
  expect(html.length).toBeLessThan(60_000);
  expect(html).toContain(`${"x".repeat(6_000)}…`);
  expect(html).not.toContain("x".repeat(6_001));
  expect(html).not.toContain("p".repeat(6_001));
  expect([...html.matchAll(/<img src="/g)]).toHaveLength(20);
  expect(html).toContain(`href="${path}?example=${(await ids())[0]}">View in the playground`);
});
