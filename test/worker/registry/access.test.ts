/** Access to pull and push, and answers that hide private repositories. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { MODEL_HEADER } from "../../../src/protocol/registry.ts";
import { Client } from "../support/client.ts";
import {
  anonymous,
  digestOf,
  expectError,
  newRepository,
  Repository,
  randomBytes,
} from "../support/registry.ts";
import { newClient, newUser } from "../support/world.ts";

const basic = (password: string) => `Basic ${btoa(`anybody:${password}`)}`;

test("a request without credentials gets a challenge with the token endpoint and the scope", async () => {
  const ping = await anonymous.fetch("/v2/");
  expect(ping.headers.get("www-authenticate")).toBe(
    'Bearer realm="https://auspex.test/v2/token",service="auspex.test"',
  );
  await expectError(ping, 401, "UNAUTHORIZED");
  const read = await anonymous.fetch("/v2/ada/story/manifests/latest");
  expect(read.headers.get("www-authenticate")).toContain('scope="repository:ada/story:pull"');
  await expectError(read, 401, "UNAUTHORIZED");
  const push = await anonymous.fetch("/v2/ada/story/blobs/uploads/", { method: "POST" });
  expect(push.headers.get("www-authenticate")).toContain('scope="repository:ada/story:pull,push"');
  await expectError(push, 401, "UNAUTHORIZED");
});

test("the token endpoint returns the given access token, or the anonymous one", async () => {
  const { client } = await newUser();
  const { token = "" } = client;
  const given = await anonymous.fetch("/v2/token?service=auspex.test&scope=repository:a/b:pull", {
    headers: { authorization: basic(token) },
  });
  expect(await given.json()).toMatchObject({ token, access_token: token, expires_in: 3600 });
  for (const authorization of [`Bearer ${token}`, basic(token)]) {
    expect((await anonymous.fetch("/v2/", { headers: { authorization } })).status).toBe(200);
  }
  const nobody = await (await anonymous.fetch("/v2/token")).json<{ token: string }>();
  const ping = await new Client(nobody.token).fetch("/v2/");
  expect(ping.status).toBe(200);
  await expectError(
    await anonymous.fetch("/v2/token", { headers: { authorization: basic("wrong") } }),
    401,
    "UNAUTHORIZED",
  );
});

test("the first push to a name creates a private model", async () => {
  const repository = await newRepository();
  const { digest } = await repository.pushImage();
  const model = await repository.client.ok("GET", `/v1/models/${repository.name}`);
  expect(model).toMatchObject({ visibility: "private", latest_version: null });
  const read = await repository.send("GET", "manifests/latest");
  expect(read.headers.get("docker-content-digest")).toBe(digest);
});

test("a push that names its model's id creates no other model", async () => {
  const repository = await newRepository();
  const { client, name } = repository;
  const { digest, manifest } = await repository.pushImage();
  const { id } = await client.ok<Model>("GET", `/v1/models/${name}`);
  const headers = { [MODEL_HEADER]: id };
  const begin = () => repository.send("POST", "blobs/uploads/", { headers });
  const put = () => repository.send("PUT", "manifests/latest", { headers, body: manifest });
  expect((await begin()).status).toBe(202);
  await client.ok("DELETE", `/v1/models/${name}`);
  for (const send of [begin, put]) {
    const message = await expectError(await send(), 404, "NAME_UNKNOWN");
    expect(message).toContain("deleted or renamed during this push");
  }
  expect((await client.json("GET", `/v1/models/${name}`)).status).toBe(404);
  // Another model of this name is not the target either.
  await client.ok("POST", "/v1/models", { name: name.split("/")[1] });
  for (const send of [begin, put]) await expectError(await send(), 404, "NAME_UNKNOWN");
  expect((await repository.send("GET", `manifests/${digest}`)).status).toBe(404);
});

test("a push to another user's name, or with a token without the scope, is refused", async () => {
  const repository = await newRepository();
  await repository.pushImage();
  const stranger = (await newUser()).client;
  await expectError(await repository.as(stranger).send("POST", "blobs/uploads/"), 403, "DENIED");
  const free = new Repository(stranger, `${repository.username}/free`);
  await expectError(await free.send("POST", "blobs/uploads/"), 403, "DENIED");
  const reader = await newClient(repository.username, { scopes: ["read"] });
  await expectError(await repository.as(reader).send("POST", "blobs/uploads/"), 403, "DENIED");
});

test("a push to a name that cannot be a model's is refused with the form of names", async () => {
  const { client } = await newUser();
  for (const name of ["ada", "ada/story/large"]) {
    const refused = await client.fetch(`/v2/${name}/blobs/uploads/`, { method: "POST" });
    const { errors } = await refused.clone().json<{ errors: { message: string }[] }>();
    expect(errors[0]?.message).toContain("Images are {owner}/{model}, such as ada/story.");
    await expectError(refused, 404, "NAME_UNKNOWN");
  }
});

test("a private image answers like a missing one, and a public one is readable by all", async () => {
  const repository = await newRepository();
  const { digest, layers } = await repository.pushImage();
  const layer = digestOf(layers[0] ?? new Uint8Array());
  const stranger = repository.as((await newUser()).client);
  const nobody = repository.as(anonymous);
  const missing = new Repository(stranger.client, `${repository.username}/missing`);
  const referrers = `referrers/${digest}`;
  for (const one of [stranger, missing])
    expect(await (await one.send("GET", referrers)).json()).toMatchObject({ manifests: [] });
  await expectError(await nobody.send("GET", referrers), 401, "UNAUTHORIZED");
  for (const path of [`manifests/${digest}`, `blobs/${layer}`, "tags/list"]) {
    const told = await expectError(await stranger.send("GET", path), 404, "NAME_UNKNOWN");
    const same = await expectError(await missing.send("GET", path), 404, "NAME_UNKNOWN");
    expect(told.replace("/story", "/missing")).toBe(same);
    await expectError(await nobody.send("GET", path), 401, "UNAUTHORIZED");
  }
  await repository.client.ok("PATCH", `/v1/models/${repository.name}`, { visibility: "public" });
  for (const path of [`manifests/${digest}`, `blobs/${layer}`, "tags/list", referrers]) {
    expect((await stranger.send("GET", path)).status).toBe(200);
    expect((await nobody.send("GET", path)).status).toBe(200);
  }
  await expectError(await stranger.send("POST", "blobs/uploads/"), 403, "DENIED");
  await repository.client.ok("PATCH", `/v1/models/${repository.name}`, {
    visibility: "restricted",
  });
  await expectError(await stranger.send("GET", `manifests/${digest}`), 403, "DENIED");
  await expectError(await nobody.send("GET", `manifests/${digest}`), 401, "UNAUTHORIZED");
  expect((await repository.send("GET", `manifests/${digest}`)).status).toBe(200);
});

test("a blob is read only where it was uploaded or mounted, though its bytes are stored once", async () => {
  const [first, second] = [await newRepository(), await newRepository()];
  const bytes = randomBytes(10_000);
  const digest = await first.push(bytes);
  await second.push(randomBytes(10));
  await expectError(await second.send("GET", `blobs/${digest}`), 404, "BLOB_UNKNOWN");
  expect(await second.has(digest)).toBe(false);
  // A mount from another user's private repository falls back to an upload, as for a missing blob.
  const mount = `blobs/uploads/?mount=${digest}&from=${first.name}`;
  expect((await second.send("POST", mount)).status).toBe(202);
  expect(await second.has(digest)).toBe(false);
  await second.push(bytes);
  expect(await second.blob(digest)).toEqual(bytes);
  const { results } = await env.DB.prepare("SELECT key FROM registry_blobs WHERE digest = ?")
    .bind(digest)
    .all();
  expect(results).toHaveLength(1);
});

test("a blob is mounted from another repository that the caller may read", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(10_000);
  const digest = await repository.push(bytes);
  const sibling = new Repository(repository.client, `${repository.username}/sibling`);
  const mounted = await sibling.send(
    "POST",
    `blobs/uploads/?mount=${digest}&from=${repository.name}`,
  );
  expect(mounted.status).toBe(201);
  expect(await sibling.blob(digest)).toEqual(bytes);
  const third = new Repository(repository.client, `${repository.username}/third`);
  expect((await third.send("POST", `blobs/uploads/?mount=${digest}`)).status).toBe(201);
  await repository.client.ok("PATCH", `/v1/models/${repository.name}`, { visibility: "public" });
  const other = await newRepository();
  const from = `blobs/uploads/?mount=${digest}&from=${repository.name}`;
  expect((await other.send("POST", from)).status).toBe(201);
  expect(await other.blob(digest)).toEqual(bytes);
});

test("a renamed model keeps its images under the new name only", async () => {
  const repository = await newRepository();
  const { digest } = await repository.pushImage();
  await repository.client.ok("PATCH", `/v1/models/${repository.name}`, { name: "novel" });
  const renamed = new Repository(repository.client, `${repository.username}/novel`);
  expect((await renamed.send("GET", `manifests/${digest}`)).status).toBe(200);
  await expectError(await repository.send("GET", `manifests/${digest}`), 404, "NAME_UNKNOWN");
});

test("a token for some models can push only to those", async () => {
  const repository = await newRepository();
  await repository.pushImage();
  await new Repository(repository.client, `${repository.username}/other`).pushImage();
  const limited = await newClient(repository.username, { models: [repository.name] });
  await repository.as(limited).pushImage("again");
  const other = new Repository(limited, `${repository.username}/other`);
  await expectError(await other.send("POST", "blobs/uploads/"), 403, "DENIED");
  await expectError(await other.send("GET", "manifests/latest"), 403, "DENIED");
});

test("a limited token cannot mount a blob of another model, named or not", async () => {
  const first = await newRepository("first");
  const secret = randomBytes(50);
  const digest = await first.push(secret);
  const second = new Repository(first.client, `${first.username}/second`);
  await second.push(randomBytes(5));
  const scopes = ["read", "write"];
  const limited = second.as(await newClient(first.username, { models: [second.name], scopes }));
  for (const from of ["", `&from=${first.name}`]) {
    const answer = await limited.send("POST", `blobs/uploads/?mount=${digest}${from}`);
    // Clients send the layer after a 202.
    expect(answer.status).toBe(202);
    expect((await limited.send("GET", `blobs/${digest}`)).status).toBe(404);
  }
  const both = await newClient(first.username, { models: [first.name, second.name], scopes });
  expect((await second.as(both).send("POST", `blobs/uploads/?mount=${digest}`)).status).toBe(201);
});
