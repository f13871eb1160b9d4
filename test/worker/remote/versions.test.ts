/** Publishing of remote versions: what their configuration may have, and what is shown of them. */
import { expect, test } from "vitest";
import { newRemoteWorld } from "../support/remote.ts";
import { Visitor } from "../support/visitor.ts";
import { DIGEST, newUser } from "../support/world.ts";

const REMOTE = { url: "https://api.openai.com/v1", api: "openai", model: "gpt-5-mini" };

test("a remote version has no image, and the calls of its API", async () => {
  const { client, model } = await newRemoteWorld({ api: "anthropic" });
  expect(await client.ok("GET", `/v1/models/${model}/versions/1`)).toMatchObject({
    container_image_digest: null,
    status: "ready",
    compatibilities: { vendorb_messages: true, vendora_chat_completions: false },
    configuration: { interface: "remote", remote: { api: "anthropic" } },
  });
});

test.each([
  ["an image", { container_image_digest: DIGEST }, {}, "container_image_digest"],
  ["hardware", {}, { hardware_identifier: "cpu" }, "hardware_identifier"],
  ["another interface", {}, { interface: "cog" }, "interface"],
  ["no host", {}, { remote: undefined }, "remote"],
  ["an address without TLS", {}, { remote: { ...REMOTE, url: "ftp://a.example.org" } }, "url"],
  ["a private address", {}, { remote: { ...REMOTE, url: "https://10.0.0.1/v1" } }, "url"],
  ["a password in its address", {}, { remote: { ...REMOTE, url: "https://a:b@c.org" } }, "url"],
  ["a query in its address", {}, { remote: { ...REMOTE, url: "https://c.org/?a=b" } }, "url"],
  ["inputs that must stay", {}, { local_only: true }, "local_only"],
  [
    "a call that cannot be sent there",
    { compatibilities: { vendorb_messages: true } },
    {},
    "vendorb_messages",
  ],
])("a remote version with %s is refused", async (_what, body, configuration, field) => {
  const { client, username } = await newUser();
  await client.ok("POST", "/v1/models", { name: "far" });
  const answer = await client.json<{ detail: { loc: string[] }[] }>(
    "POST",
    `/v1/models/${username}/far/versions`,
    {
      release_notes: "",
      configuration: { interface: "remote", remote: REMOTE, ...configuration },
      ...body,
    },
  );
  expect(answer.status).toBe(422);
  expect(answer.body.detail[0]?.loc.at(-1)).toBe(field);
});

test("a version that says so keeps its inputs on the installation's machines", async () => {
  const { client, username } = await newUser();
  await client.ok("POST", "/v1/models", { name: "near" });
  const path = `/v1/models/${username}/near/versions`;
  const schemas = { prediction: { input: {}, output: {} } };
  await client.ok("POST", path, {
    ...{ release_notes: "", container_image_digest: DIGEST, schemas },
    configuration: { local_only: true },
  });
  expect(await client.ok("GET", `${path}/1`)).toMatchObject({
    configuration: { local_only: true },
  });
});

test("the pages of a model say that its inputs are sent to another host", async () => {
  const { model } = await newRemoteWorld();
  const visitor = new Visitor();
  for (const path of [
    `/models/${model}`,
    `/models/${model}/overview`,
    `/models/${model}/versions/1`,
  ]) {
    const { html } = await visitor.look(path);
    expect(html).toContain("Runs at 127.0.0.1");
    expect(html).toContain("are sent there");
    expect(html).not.toContain("sha256:");
  }
});

test("a deployment of a remote version is refused, because there is nothing to keep running", async () => {
  const { client, model } = await newRemoteWorld();
  const body = { name: "warm", model };
  const { status } = await client.json("POST", "/v1/deployments", body);
  expect(status).toBe(422);
});
