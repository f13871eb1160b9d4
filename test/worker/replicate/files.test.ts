/** /replicate/v1/files: the forms of the Python and the npm client, and their files as inputs. */
import { expect, test } from "vitest";
import { replicateFile, replicatePage } from "../../../src/protocol/replicate.ts";
import type { Client } from "../support/client.ts";
import { newClient, newUser, newWorld } from "../support/world.ts";

const PATH = "/replicate/v1/files";
const HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

/** Posts a form as httpx writes it. */
async function post(client: Client, parts: string[]) {
  const boundary = "f64a6c6ac4fed507b9430635c33d4f7c";
  const body = [...parts.map((part) => `--${boundary}\r\n${part}\r\n`), `--${boundary}--\r\n`].join(
    "",
  );
  return client.fetch(PATH, {
    method: "POST",
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body,
  });
}

const CONTENT =
  'Content-Disposition: form-data; name="content"; filename="hello.txt"\r\nContent-Type: text/plain\r\n\r\nhello';

test("a file is created with the form of Python's client, read, listed, used, and deleted", async () => {
  const { client, model } = await newWorld({
    input: { type: "object", properties: { file: { type: "string", format: "uri" } } },
  });
  const metadata = 'Content-Disposition: form-data; name="metadata"\r\n\r\n{"of": "Ada"}';
  const made = await post(client, [metadata, CONTENT]);
  expect(made.status).toBe(201);
  const file = replicateFile.parse(await made.json());
  expect(file).toMatchObject({
    name: "hello.txt",
    content_type: "text/plain",
    size: 5,
    checksums: { sha256: HELLO },
    metadata: { of: "Ada" },
  });
  expect(await client.ok("GET", `${PATH}/${file.id}`)).toEqual(file);
  const list = replicatePage(replicateFile).parse(await client.ok("GET", PATH));
  expect(list.results).toEqual([file]);
  const download = await client.fetch(`${PATH}/${file.id}/download`, { redirect: "manual" });
  const content = await client.fetch(download.headers.get("location") ?? "");
  expect(await content.text()).toBe("hello");
  const input = { file: file.urls.get };
  const path = `/replicate/v1/models/${model}/predictions`;
  expect((await client.json("POST", path, { input })).status).toBe(201);
  expect((await client.fetch(`${PATH}/${file.id}`, { method: "DELETE" })).status).toBe(204);
  for (const path of [`${PATH}/${file.id}`, `${PATH}/${file.id}/download`])
    expect(await client.json("GET", path)).toMatchObject({
      status: 404,
      body: { detail: expect.stringMatching(/^The file '/) },
    });
  expect((await client.refused(path, { input })).status).toBe(422);
});

test("the npm client's metadata come as a file of the form", async () => {
  const { client } = await newUser();
  const metadata =
    'Content-Disposition: form-data; name="metadata"; filename="blob"\r\nContent-Type: application/json\r\n\r\n{"n":1}';
  const file = replicateFile.parse(await (await post(client, [CONTENT, metadata])).json());
  expect(file).toMatchObject({ metadata: { n: 1 }, size: 5 });
});

test("another account's file is a 404, also as an input", async () => {
  const world = await newWorld({ visibility: "public" });
  const other = await world.stranger();
  const file = replicateFile.parse(await (await post(world.client, [CONTENT])).json());
  expect((await other.fetch(`${PATH}/${file.id}`)).status).toBe(404);
  expect((await other.fetch(`${PATH}/${file.id}`, { method: "DELETE" })).status).toBe(404);
  const path = `/replicate/v1/models/${world.model}/predictions`;
  expect((await other.refused(path, { input: { file: file.urls.get } })).status).toBe(422);
});

test("a token that is limited to a model lists only the files that it has sent", async () => {
  const { client, username, model } = await newWorld();
  const limited = await newClient(username, { models: [model] });
  const files = [];
  for (const sender of [client, limited])
    files.push(replicateFile.parse(await (await post(sender, [CONTENT])).json()));
  const listed = async (who: Client) =>
    replicatePage(replicateFile).parse(await who.ok("GET", PATH)).results;
  expect(await listed(limited)).toEqual(files.slice(1));
  expect((await listed(client)).map(({ id }) => id).toSorted()).toEqual(
    files.map(({ id }) => id).toSorted(),
  );
});

test("a form without a file, and a body that is no form, are refused", async () => {
  const { client } = await newUser();
  expect((await post(client, [])).status).toBe(422);
  expect((await client.refused(PATH, {})).status).toBe(415);
});
