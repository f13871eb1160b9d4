/** Identifiers in any case, and cursors without content. */
import { expect, test } from "vitest";
import { Client } from "../support/client.ts";
import { fileUrl, nobody, uploaded } from "../support/files.ts";
import { newWorld } from "../support/world.ts";

const world = await newWorld();
const { client } = world;
const upper = (path: string, id: string) => path.replaceAll(id, id.toUpperCase());

const id = await world.waiting();

test("a prediction is found by its id in upper case, with what belongs to it", async () => {
  for (const rest of ["", "/webhooks", "/logs", "/explanation"]) {
    const path = `/v1/predictions/${id}${rest}`;
    const { status } = await client.json("GET", path);
    expect([rest, (await client.json("GET", upper(path, id))).status]).toEqual([rest, status]);
  }
  expect(await client.ok("GET", `/v1/predictions/${id.toUpperCase()}`)).toMatchObject({ id });
});

test("a part of an id in upper case filters the list, and finds an event of a webhook", async () => {
  const list = await client.ok("GET", `/v1/predictions?id=${id.toUpperCase()}`);
  expect(list).toMatchObject({ items: [{ id }] });
  const event = (of: string) => client.json("GET", `/v1/predictions/${id}/webhooks/evt_${of}_1`);
  expect((await event(id.toUpperCase())).status).toBe((await event(id)).status);
});

test("an upload and its file are found by their id in upper case, also with the signature", async () => {
  const one = await uploaded(client, "text");
  expect(await client.ok("GET", `/v1/uploads/${one.id.toUpperCase()}`)).toMatchObject({
    id: one.id,
  });
  for (const reader of [nobody, client])
    expect((await reader.fetch(upper(fileUrl(one), one.id))).status).toBe(200);
});

test("an input names a file by its id in upper case", async () => {
  const one = await uploaded(client, "text");
  const image = `/v1/uploads/${one.id.toUpperCase()}`;
  const made = await client.create({ model: world.model, input: { image } });
  expect(made).toMatchObject({ status: 202, body: { input: { image } } });
  const none = `/v1/uploads/${crypto.randomUUID().toUpperCase()}`;
  const refused = await client.json("POST", "/v1/predictions", {
    model: world.model,
    input: { image: none },
  });
  expect(refused.status).toBe(422);
});

test("a page of the dashboard moves to the id in lower case", async () => {
  const response = await new Client(undefined).fetch(
    `/predictions/${id.toUpperCase()}/output?from=1`,
    { headers: { accept: "text/html" }, redirect: "manual" },
  );
  expect(response.headers.get("location")).toBe(`/predictions/${id}/output?from=1`);
});

test.each([
  "/v1/predictions",
  "/v1/models",
  "/v1/users",
  "/v1/search/models?q=a",
  "/v1/hardware",
  "/v1/user/models",
])("an empty cursor of %s counts as absent", async (path) => {
  const query = path.includes("?") ? "&" : "?";
  expect(await client.ok("GET", `${path}${query}cursor=&page_size=5`)).toMatchObject({
    previous_cursor: null,
  });
});

test("an empty after_id begins a stream at its first event", async () => {
  const response = await client.fetch(`/v1/predictions/${id}/stream?after_id=`);
  expect(response.status).toBe(200);
  await response.body?.cancel();
});
