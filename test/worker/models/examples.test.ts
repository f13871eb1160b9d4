/** Examples: pinned by owners, shown to all who see the model, and kept when their run is deleted. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { Example } from "../../../src/protocol/example.ts";
import { sweepExamples } from "../../../src/services/models/examples.ts";
import { services } from "../support/accounts.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { newRunnable, outputFile } from "../support/examples.ts";
import { keysBelow, uploaded } from "../support/files.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";
import { DIGEST, newClient } from "../support/world.ts";

const SCHEMA = {
  type: "object",
  properties: {
    prompt: { type: "string" },
    key: { type: "string", format: "password" },
    // `api_key` has no format, as in the schema of a plain predict function.
    api_key: { type: "string" },
    picture: { type: "string", format: "uri" },
  },
};

async function newShown(visibility: "public" | "private" = "public") {
  const person = await newDashboardUser();
  const made = await newRunnable(person, { visibility, schema: SCHEMA });
  const all = `${made.path}/examples`;
  const { visitor } = person;
  const pin = async (prediction_id: string) => {
    await visitor.look(made.path);
    return visitor.send(all, { prediction_id });
  };
  const read = async (by = new Visitor()) => (await by.look(all)).html;
  const ids = async () =>
    [...(await read(visitor)).matchAll(/\/([0-9a-f-]{36})\/unpin/g)].map(([, id = ""]) => id);
  return { ...person, ...made, all, pin, read, ids };
}

test("an example shows a run's input, output and files, without secrets", async () => {
  const { client, run, pin, read, visitor, path, ids } = await newShown();
  const picture = await uploaded(client);
  const id = await run(
    {
      prompt: "a cat",
      key: "sk-hidden",
      api_key: "sk-hidden",
      picture: `${ORIGIN}/v1/uploads/${picture.id}`,
    },
    (one) => [`${ORIGIN}/v1/files/${one}/out.png`],
  );
  await outputFile(id, "out.png", "a picture", "image/png");
  expect(textOf((await visitor.look(`/predictions/${id}`)).html)).toContain("Pin as an example");
  expect((await pin(id)).status).toBe(303);
  // The example keeps copies after the data of its run and the upload are deleted.
  await client.ok("DELETE", `/v1/predictions/${id}`);
  await client.ok("DELETE", `/v1/uploads/${picture.id}`);

  const html = await read();
  expect(textOf(html)).toContain("Example 1 Version 1 · 1.5 s Input prompt a cat picture");
  expect(html).not.toContain("sk-hidden");
  expect(html).not.toContain("/unpin");
  const [src = ""] = [...html.matchAll(/<img src="([^"]+)"/g)].map(([, one]) => one);
  const file = await new Visitor().fetch(src.replaceAll("&amp;", "&"), {});
  expect([file.status, await file.text()]).toEqual([200, "a picture"]);
  expect(file.headers.get("content-type")).toBe("image/png");

  const [example = ""] = await ids();
  const { html: form } = await visitor.look(`${path}?example=${example}`);
  expect(form).toContain("a cat");
  expect(form).toContain(`/v1/files/${example}/`);
  expect(textOf(form)).toContain("Example by");

  expect((await new Visitor().look("/models?category=")).html).toContain(`/v1/files/${example}/`);
  await visitor.look(`${path}/examples`);
  expect((await visitor.send(`${path}/examples/${example}/unpin`)).status).toBe(303);
  expect(textOf(await read())).toContain("No examples yet");
  expect(await keysBelow(example)).toEqual([]);
  expect((await new Visitor().look("/models?category=")).html).not.toContain(example);
});

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

test("examples of a private model are visible to its owner only, and are deleted with it", async () => {
  const { run, pin, read, client, reference, ids, visitor, user_id } = await newShown("private");
  const id = await run({}, (one) => `${ORIGIN}/v1/files/${one}/out.txt`);
  await outputFile(id, "out.txt", "a text", "text/plain");
  const bytes = async () => {
    const row = await env.DB.prepare("SELECT bytes FROM account_bytes WHERE user_id = ?")
      .bind(user_id)
      .first<{ bytes: number }>();
    return row?.bytes ?? 0;
  };
  const before = await bytes();
  await pin(id);
  expect(await bytes()).toBeGreaterThan(before + 512);
  const [example = ""] = await ids();
  expect(await keysBelow(example)).toHaveLength(1);
  expect((await new Visitor().look(`/models/${reference}/examples`)).status).toBe(404);
  await read(visitor);
  await client.ok("DELETE", `/v1/models/${reference}`);
  await sweepExamples(services, Date.now());
  expect(await keysBelow(example)).toEqual([]);
  const left = await env.DB.prepare("SELECT id FROM examples WHERE id = ?").bind(example).first();
  expect(left).toBeNull();
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

test("examples are listed in order, pinned once and removed through the API", async () => {
  const { run, client, reference, ids } = await newShown();
  const all = `/v1/models/${reference}/examples`;
  const prediction_id = await run({ prompt: "a cat", key: "sk-hidden" }, () => "It purrs");
  const pinned = await client.ok("POST", all, { prediction_id });
  const nobody = new Client(undefined);
  expect(pinned).toMatchObject({
    input: { prompt: "a cat" },
    output: "It purrs",
    version_number: 1,
  });
  expect(await nobody.ok("GET", all)).toEqual({
    items: [pinned],
    next_cursor: null,
    previous_cursor: null,
    next_url: null,
    previous_url: null,
  });
  expect((await client.json("POST", all, { prediction_id })).status).toBe(409);
  const [id] = await ids();
  await client.ok("DELETE", `${all}/${id}`);
  expect((await client.json("DELETE", `${all}/${id}`)).status).toBe(404);
  expect(await nobody.ok("GET", all)).toMatchObject({ items: [] });
});

test("a token that may not read predictions cannot pin one as an example", async () => {
  const { run, reference, username } = await newShown();
  const prediction_id = await run({ prompt: "a cat" }, () => "It purrs");
  const writer = await newClient(username, { scopes: ["write"] });
  const { status } = await writer.json("POST", `/v1/models/${reference}/examples`, {
    prediction_id,
  });
  expect(status).toBe(403);
});

test("an owner orders examples and chooses the model's picture through the API", async () => {
  const person = await newDashboardUser();
  const { client } = person;
  const { run, reference, model } = await newRunnable(person, { visibility: "public" });
  const path = `/v1/models/${reference}/examples`;
  const pinned: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const id = await run({}, (one) => (name === "c" ? `${ORIGIN}/v1/files/${one}/out.png` : name));
    if (name === "c") await outputFile(id, "out.png", "a picture", "image/png");
    const { id: example } = await client.ok<Example>("POST", path, { prediction_id: id });
    pinned.push(example);
  }
  const [a, b, c] = pinned;
  const ids = async () =>
    (await client.ok<{ items: Example[] }>("GET", path)).items.map(({ id }) => id);
  const cover = async () =>
    (
      await env.DB.prepare("SELECT cover_key FROM models WHERE id = ?")
        .bind(model.id)
        .first<{ cover_key: string | null }>()
    )?.cover_key;
  expect(await client.ok("PATCH", `${path}/${c}`, { position: 1, is_cover: true })).toMatchObject({
    id: c,
    version_number: 1,
  });
  expect(await ids()).toEqual([c, a, b]);
  expect(await cover()).toMatch(new RegExp(`^${c}/`));
  // A position beyond the last one makes the example the last.
  await client.ok("PATCH", `${path}/${c}`, { position: 12 });
  expect(await ids()).toEqual([a, b, c]);
  const refused = await client.json("PATCH", `${path}/${b}`, { position: 1, is_cover: true });
  expect(refused.status).toBe(409);
  expect(await ids()).toEqual([a, b, c]);
  // `is_cover: false` removes a picture only if it is the example's own.
  await client.ok("PATCH", `${path}/${b}`, { is_cover: false });
  expect(await cover()).toMatch(new RegExp(`^${c}/`));
  await client.ok("PATCH", `${path}/${c}`, { is_cover: false });
  expect(await cover()).toBe("");
  for (const position of [0, 13, 1.5])
    expect((await client.json("PATCH", `${path}/${c}`, { position })).status).toBe(422);
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
