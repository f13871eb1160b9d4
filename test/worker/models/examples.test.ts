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
import { newShown } from "../support/shown-examples.ts";
import { Visitor } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

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
