/** Examples: pinned by a model's owner, shown to whoever sees the model, and there when their run is gone. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { sweepExamples } from "../../../src/services/models/examples.ts";
import { services } from "../support/accounts.ts";
import { ORIGIN } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { newRunnable, outputFile } from "../support/examples.ts";
import { keysBelow, uploaded } from "../support/files.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";

const SCHEMA = {
  type: "object",
  properties: {
    prompt: { type: "string" },
    key: { type: "string", format: "password" },
    // As it comes from a predict function that names it so, and says no more.
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

test("a run is shown with its input, output and files, without what is secret", async () => {
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
  // The data of the run goes, and so does the upload.
  await client.ok("DELETE", `/v1/predictions/${id}`);
  await client.ok("DELETE", `/v1/uploads/${picture.id}`);

  const html = await read();
  expect(textOf(html)).toContain("Example 1 Version 1 , ran 1.5 s Input prompt a cat picture");
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

  expect((await visitor.send(`${path}/examples/${example}/cover`)).status).toBe(303);
  expect((await new Visitor().look("/models?category=")).html).toContain(`/v1/files/${example}/`);
  await visitor.look(`${path}/examples`);
  expect((await visitor.send(`${path}/examples/${example}/unpin`)).status).toBe(303);
  expect(textOf(await read())).toContain("No examples yet");
  expect(await keysBelow(example)).toEqual([]);
  expect((await new Visitor().look("/models?category=")).html).not.toContain(example);
});

test("only what has succeeded, is one's own, small enough and not shown yet becomes one", async () => {
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
  expect(textOf((await pin(id)).html)).toContain("This prediction is an example already.");
});

test("they have an order, and a limit", async () => {
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

test("those of a private model are its owner's, and go with it", async () => {
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
