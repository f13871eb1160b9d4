/** Models, versions, collections, hardware and the account in Replicate's API. */
import { expect, test } from "vitest";
import {
  replicateAccount,
  replicateCollection,
  replicateHardware,
  replicateModel,
  replicatePage,
  replicateVersion,
} from "../../../src/protocol/replicate.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

const BASE = "/replicate/v1";
const INPUT = { type: "object", properties: { prompt: { type: "string" } } };

test("a model has its latest version, whose schema clients read", async () => {
  const { client, model, username } = await newWorld({ input: INPUT });
  const found = replicateModel.parse(await client.ok("GET", `${BASE}/models/${model}`));
  expect(found).toMatchObject({ owner: username, name: "story", visibility: "private" });
  const versions = replicatePage(replicateVersion).parse(
    await client.ok("GET", `${BASE}/models/${model}/versions`),
  );
  const [version] = versions.results;
  expect(versions.results).toEqual([found.latest_version]);
  expect(version?.openapi_schema).toMatchObject({ components: { schemas: { Input: INPUT } } });
  for (const named of [version?.id, "1"])
    expect(await client.ok("GET", `${BASE}/models/${model}/versions/${named}`)).toEqual(version);
});

test("versions published at the same time have different IDs", async () => {
  const { client, model } = await newWorld();
  const body = (await client.ok<{ items: object[] }>("GET", `/v1/models/${model}/versions`))
    .items[0];
  const digest = {
    release_notes: "",
    schemas: { prediction: { input: {}, output: {} } },
    ...pick(body),
  };
  await Promise.all([1, 2, 3].map(() => client.ok("POST", `/v1/models/${model}/versions`, digest)));
  const versions = replicatePage(replicateVersion).parse(
    await client.ok("GET", `${BASE}/models/${model}/versions`),
  );
  const ids = versions.results.map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
  for (const version of ids)
    expect((await client.json("POST", `${BASE}/predictions`, { version, input: {} })).status).toBe(
      201,
    );
});

const pick = (version: object | undefined) => ({
  container_image_digest:
    version && "container_image_digest" in version ? version.container_image_digest : "",
});

test("another account sees a public model's versions, and a private one's are a 404", async () => {
  const world = await newWorld();
  const other = await world.stranger();
  const { latest_version } = replicateModel.parse(
    await world.client.ok("GET", `${BASE}/models/${world.model}`),
  );
  const path = `${BASE}/models/${world.model}`;
  for (const below of ["", "/versions", `/versions/${latest_version?.id}`, "/readme", "/examples"])
    expect([below, (await other.fetch(path + below)).status]).toEqual([below, 404]);
  await world.client.ok("PATCH", `/v1/models/${world.model}`, { visibility: "public" });
  expect(await other.ok("GET", `${path}/versions/${latest_version?.id}`)).toEqual(latest_version);
});

test("a model is created below one's own name, changed, and deleted", async () => {
  const { client, username } = await newUser();
  const body = { owner: username, name: "mine", visibility: "public", hardware: "cpu" };
  await operator.put("/v1/operator/hardware/cpu", { name: "CPU" });
  const github_url = "https://github.com/ada/mine";
  const created = await client.json("POST", `${BASE}/models`, { ...body, github_url });
  expect([created.status, replicateModel.parse(created.body)]).toMatchObject([
    201,
    { owner: username, name: "mine", github_url, latest_version: null, run_count: 0 },
  ]);
  const elsewhere = await client.refused(`${BASE}/models`, { ...body, owner: "someone" });
  expect(elsewhere).toMatchObject({
    status: 403,
    body: { detail: expect.stringMatching(username) },
  });
  const path = `${BASE}/models/${username}/mine`;
  await client.ok("PATCH", path, { description: "Goes on", readme: "# Mine" });
  expect(await client.ok("GET", path)).toMatchObject({ description: "Goes on", github_url });
  expect(await (await client.fetch(`${path}/readme`)).text()).toBe("# Mine");
  expect((await client.fetch(path, { method: "DELETE" })).status).toBe(204);
  expect((await client.fetch(path)).status).toBe(404);
});

test("models are listed in pages, searched, and gathered in collections", async () => {
  const { client, username } = await newUser();
  const slug = unique("weather");
  await operator.put(`/v1/operator/categories/${slug}`, { name: "Weather" });
  const name = unique("barometer");
  for (let n = 0; n < 26; n++)
    await client.ok("POST", "/v1/models", {
      name: `${name}-${n}`,
      visibility: "public",
      category_slugs: [slug],
    });
  const page = replicatePage(replicateModel);
  const first = page.parse(await client.ok("GET", `${BASE}/models`));
  expect(first.results[0]).toMatchObject({ owner: username, name: `${name}-25` });
  const second = page.parse(await client.ok("GET", first.next ?? ""));
  expect(second.results[0]).toMatchObject({ name: `${name}-0` });
  expect(second.previous).toMatch(/^https:\/\/auspex\.test\/replicate\/v1\/models\?/);
  const found = page.parse(await client.ok("GET", `${BASE}/models?query=${name}-7`));
  expect(found.results.map((one) => one.name)).toContain(`${name}-7`);
  const collection = replicateCollection.parse(
    await client.ok("GET", `${BASE}/collections/${slug}`),
  );
  expect(collection).toMatchObject({ name: "Weather", models: { length: 26 } });
  expect((await client.fetch(`${BASE}/collections/none`)).status).toBe(404);
});

test("the account, the hardware and the secret of webhooks have Replicate's shapes", async () => {
  const { client, username } = await newUser();
  expect(replicateAccount.parse(await client.ok("GET", `${BASE}/account`))).toMatchObject({
    username,
    name: username,
  });
  const hardware = replicateHardware.parse(await client.ok("GET", `${BASE}/hardware`));
  expect(hardware.length).toBeGreaterThan(0);
  const secret = await client.ok("GET", `${BASE}/webhooks/default/secret`);
  expect(secret).toEqual({ key: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
  expect(await client.ok("GET", `${BASE}/webhooks/default/secret`)).toEqual(secret);
  const other = (await newUser()).client;
  expect(await other.ok("GET", `${BASE}/webhooks/default/secret`)).not.toEqual(secret);
});

test("trainings are a 404 that says what to do", async () => {
  const { client } = await newUser();
  for (const [path, words] of [
    ["/trainings", "publish the result as a version"],
    ["/models/a/b/versions/1/trainings", "publish the result as a version"],
  ] as const)
    expect(await client.refused(BASE + path, {})).toMatchObject({
      status: 404,
      body: { status: 404, detail: expect.stringMatching(words) },
    });
});
