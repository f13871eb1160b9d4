/** Deployments: their releases, their names, and who may change them. */
import { expect, test } from "vitest";
import type { Deployment, Release } from "../../../src/protocol/deployment.ts";
import { actionsOf, entriesOf } from "../support/audit.ts";
import { newBudget } from "../support/budgets.ts";
import { newModel, pageAt, publish, referenceOf } from "../support/catalogue.ts";
import { newDeployment } from "../support/deployments.ts";
import { newOrganization, setShare } from "../support/organizations.ts";
import { newClient, newUser, newWorld, operator, unique } from "../support/world.ts";

const pathOf = ({ owner, name }: { owner: string; name: string }) =>
  `/v1/deployments/${owner}/${name}`;

const SETTINGS = {
  min_instances: 0,
  max_instances: 100,
  idle_seconds: null,
  max_concurrency: null,
  priority: null,
  probe: null,
};

test("a deployment begins with a release of the model's default version on its hardware", async () => {
  const { client, username, model, hardware } = await newWorld();
  const made = await newDeployment(client, { name: "chat", model });
  expect(made).toMatchObject({
    owner: username,
    name: "chat",
    current_release: {
      number: 1,
      model,
      version: 1,
      created_by: { type: "user", username },
      configuration: { ...SETTINGS, hardware },
      ended_at: null,
    },
    next_release: null,
    status: { wanted: 0 },
  });
  const { displaces, ...shown } = await newDeployment(client, { model });
  expect(displaces).toEqual([]);
  expect(await client.ok("GET", pathOf(shown))).toEqual(shown);
  const { items } = await pageAt<Deployment>(client, "/v1/deployments");
  expect(items.map((one) => one.name)).toEqual([shown.name, "chat"]);
  expect(items[0]).toEqual(shown);
});

test("each change makes the next release, and a change of nothing makes none", async () => {
  const { client, model } = await newWorld();
  await publish(client, model);
  const made = await newDeployment(client, { model, version: 1 });
  const change = (body: object) => client.ok<Deployment>("PATCH", pathOf(made), body);
  expect(await change({})).toEqual(made);
  expect(await change({ version: 1, idle_seconds: null })).toEqual(made);
  const second = await change({ version: 2, max_concurrency: 8, priority: "high" });
  expect(second.current_release).toMatchObject({
    number: 2,
    version: 2,
    configuration: { ...SETTINGS, max_concurrency: 8, priority: "high" },
  });
  const third = await change({ priority: null, probe: { input: { prompt: "Hi" } } });
  expect(third.current_release).toMatchObject({
    number: 3,
    version: 2,
    configuration: { ...SETTINGS, max_concurrency: 8, probe: { input: { prompt: "Hi" } } },
  });
  const { items } = await pageAt<Release>(client, `${pathOf(made)}/releases`);
  expect(items.map(({ number, ended_at }) => [number, ended_at === null])).toEqual([
    [3, true],
    [2, false],
    [1, false],
  ]);
});

test("changes at once each make a release, and none is lost", async () => {
  const { client, model } = await newWorld();
  const made = await newDeployment(client, { model });
  const changes = [{ idle_seconds: 5 }, { max_concurrency: 7 }, { max_instances: 3 }];
  await Promise.all(changes.map((body) => client.ok("PATCH", pathOf(made), body)));
  const { current_release } = await client.ok<Deployment>("GET", pathOf(made));
  expect(current_release).toMatchObject({
    number: 4,
    configuration: { idle_seconds: 5, max_concurrency: 7, max_instances: 3 },
  });
});

test("models and deployments of an account share their names, on create and rename", async () => {
  const { client, username, model } = await newWorld();
  const { name } = await newDeployment(client, { model });
  const detail = async (method: "POST" | "PATCH", path: string, body: object) => {
    const { status, body: problem } = await client.json<{ detail: string }>(method, path, body);
    return [status, problem.detail];
  };
  const isDeployed = [
    409,
    `You have a deployment '${name}', and models and deployments share their names. Choose another name.`,
  ];
  expect(await detail("POST", "/v1/models", { name })).toEqual(isDeployed);
  expect(await detail("PATCH", `/v1/models/${model}`, { name })).toEqual(isDeployed);
  expect(await detail("POST", "/v1/deployments", { name: "story", model })).toEqual([
    409,
    "You have a model 'story', and models and deployments share their names. Choose another name.",
  ]);
  expect(await detail("POST", "/v1/deployments", { name, model })).toEqual([
    409,
    `You already have a deployment '${name}'.`,
  ]);
  await client.ok("DELETE", `/v1/deployments/${username}/${name}`);
  expect((await client.json("POST", "/v1/models", { name })).status).toBe(200);
});

test("a deployment runs neither another deployment nor a model that its account may not run", async () => {
  const { client, model } = await newWorld();
  const { owner, name } = await newDeployment(client, { model });
  const { client: stranger } = await newUser();
  const body = { name: "mine", model };
  expect((await stranger.json("POST", "/v1/deployments", body)).status).toBe(404);
  const nested = { name: "mine", model: `${owner}/${name}` };
  expect((await client.json("POST", "/v1/deployments", nested)).status).toBe(422);
});

test.each([
  [{ min_instances: 3, max_instances: 2 }, "max_instances"],
  [{ hardware: "no-such-class" }, "hardware"],
  [{ max_concurrency: 0 }, "max_concurrency"],
  [{ probe: { input: { text: "x".repeat(20_001) } } }, "probe"],
  [{ instances: 1 }, "instances"],
])("a release with %o is refused at its field", async (settings, field) => {
  const { client, model } = await newWorld();
  const body = { name: "chat", model, ...settings };
  const answer = await client.json("POST", "/v1/deployments", body);
  expect(answer.status).toBe(422);
  expect(JSON.stringify(answer.body)).toContain(field);
});

test("a release may keep no container running without a grant", async () => {
  const { client, model, hardware } = await newWorld();
  const body = { name: "chat", model, min_instances: 1 };
  const { status, body: problem } = await client.json<{ detail: string }>(
    "POST",
    "/v1/deployments",
    body,
  );
  expect([status, problem.detail]).toEqual([
    409,
    `min_instances is 1, but this account may keep 0 containers of '${hardware}' running, and its other deployments claim 0. Lower min_instances, or ask an operator of this installation to grant more.`,
  ]);
  expect((await pageAt(client, "/v1/deployments")).items).toEqual([]);
});

test("a version that a deployment of its owner runs is not deleted, nor its model", async () => {
  const { client, model } = await newWorld();
  await publish(client, model);
  const made = await newDeployment(client, { model, version: 1 });
  const refusal = async (path: string) =>
    (await client.json<{ detail: string }>("DELETE", `/v1/models/${path}`)).body.detail;
  expect(await refusal(model)).toBe(
    `The model '${model}' is run by '${made.owner}/${made.name}'. Delete the deployment, or have it run another version, first.`,
  );
  expect(await refusal(`${model}/versions/1`)).toContain(`Version 1 of '${model}' is run by`);
  await client.ok("PATCH", pathOf(made), { version: 2 });
  await client.ok("DELETE", `/v1/models/${model}/versions/1`);
  await client.ok("DELETE", pathOf(made));
  await client.ok("DELETE", `/v1/models/${model}`);
});

test("a model is deleted although a deployment of another account runs it", async () => {
  const world = await newWorld({ visibility: "public" });
  const other = await newUser();
  const made = await newDeployment(other.client, { model: world.model });
  await world.client.ok("DELETE", `/v1/models/${world.model}`);
  const shown = await other.client.ok<Deployment>("GET", pathOf(made));
  expect(shown.current_release?.model).toBeNull();
  const run = { model: `${made.owner}/${made.name}`, input: {} };
  const { status, body } = await other.client.refused("/v1/predictions", run);
  expect([status, body.detail]).toEqual([
    404,
    `The version that the deployment '${run.model}' runs was deleted, or is no longer shared with its account. Give it another one with PATCH /v1/deployments/${run.model}.`,
  ]);
});

test("a model that is no longer shared neither runs nor shows its name", async () => {
  const world = await newWorld();
  const other = await newUser();
  await setShare(world.model, other, "run");
  const made = await newDeployment(other.client, { model: world.model });
  await setShare(world.model, other, undefined);
  const shown = await other.client.ok<Deployment>("GET", pathOf(made));
  expect(shown.current_release?.model).toBeNull();
  const changed = await other.client.json("PATCH", pathOf(made), { idle_seconds: 5 });
  expect(changed.status).toBe(422);
});

test("a hardware class that a deployment uses is not deleted", async () => {
  const { client, model } = await newWorld();
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: hardware });
  const made = await newDeployment(client, { model, hardware });
  const remove = () => operator.json("DELETE", `/v1/operator/hardware/${hardware}`);
  expect((await remove()).status).toBe(409);
  await client.ok("DELETE", pathOf(made));
  expect((await remove()).status).toBe(200);
});

test("a token that is limited to some models has the deployments that run them", async () => {
  const { client, username, model } = await newWorld();
  const other = await newModel(client);
  await publish(client, referenceOf(other));
  const mine = await newDeployment(client, { model });
  const theirs = await newDeployment(client, { model: referenceOf(other) });
  const limited = await newClient(username, { models: [model] });
  const page = await pageAt<Deployment>(limited, "/v1/deployments");
  expect(page.items.map(({ name }) => name)).toEqual([mine.name]);
  expect((await limited.json("GET", pathOf(mine))).status).toBe(200);
  expect((await limited.json("GET", pathOf(theirs))).status).toBe(403);
  const run = { model: `${theirs.owner}/${theirs.name}`, input: {} };
  expect((await limited.refused("/v1/predictions", run)).status).toBe(403);
});

test.each<[string, object, string]>([
  ["allows one run at a time", { limits: { max_running: 1 } }, "limits running predictions"],
  ["allows few runs", { limits: { predictions_per_minute: 9 } }, "limits predictions per minute"],
  ["has a low priority", { priority: "low" }, "allows priority 'low' at most"],
  ["runs nothing", { scopes: ["read", "write"] }, "lacks the scope predict"],
  ["has a budget", {}, "has a budget"],
])("a token that %s makes no release with a probe", async (name, options, reason) => {
  const { client, username, model } = await newWorld();
  const limited = await newClient(username, { name, ...options });
  if (reason === "has a budget") {
    const path = `/v1/operator/users/${username}/tokens`;
    const { items } = await pageAt<{ id: string; name: string }>(operator, path);
    const token_id = items.find((one) => one.name === name)?.id;
    await newBudget(client, { token_id, limit: "1" });
  }
  const probe = { input: {} };
  const made = await newDeployment(client, { model, probe });
  const refusal = {
    status: 403,
    body: {
      detail: `This token cannot make a release with a probe, which would run outside its limits: it ${reason}. Set probe to null, or use a token without these limits, or the dashboard.`,
    },
  };
  const body = { name: "probed", model, probe };
  expect(await limited.json("POST", "/v1/deployments", body)).toMatchObject(refusal);
  const change = (settings: object) => limited.json("PATCH", pathOf(made), settings);
  expect(await change({ idle_seconds: 5 })).toMatchObject(refusal);
  expect(await change({ idle_seconds: 5, probe: null })).toMatchObject({ status: 200 });
});

test("members of an organization see and run its deployments, and developers change them", async () => {
  const organization = await newOrganization();
  const { client, model, username } = organization;
  const made = await newDeployment(client, { model });
  const [member, developer] = [
    await organization.join("member"),
    await organization.join("developer"),
  ];
  const status = async ({ client: by }: typeof member, method: "GET" | "PATCH", body?: object) =>
    (await by.json(method, pathOf(made), body)).status;
  expect(await status(member, "GET")).toBe(200);
  expect(await status(member, "PATCH", { idle_seconds: 5 })).toBe(403);
  const changed = await developer.client.ok<Deployment>("PATCH", pathOf(made), {
    idle_seconds: 5,
  });
  expect(changed.current_release?.created_by).toMatchObject({
    type: "user",
    username: developer.username,
  });
  const service = await organization.service("developer");
  const again = await service.ok<Deployment>("PATCH", pathOf(made), { idle_seconds: 6 });
  expect(again.current_release?.created_by).toMatchObject({ type: "organization", username });
});

test("the audit log has each change of a deployment, and none that is refused", async () => {
  const { client, model } = await newWorld();
  const made = await newDeployment(client, { model, probe: { input: { secret: "hush" } } });
  await client.json("POST", "/v1/deployments", { name: made.name, model });
  await client.json("PATCH", pathOf(made), { min_instances: 1 });
  await client.ok("PATCH", pathOf(made), {});
  await client.ok("PATCH", pathOf(made), { idle_seconds: 5 });
  await client.ok("DELETE", pathOf(made));
  await client.json("DELETE", pathOf(made));
  expect((await actionsOf(client)).filter((action) => action.startsWith("deployment"))).toEqual([
    "deployment.created",
    "deployment.updated",
    "deployment.deleted",
  ]);
  const entries = await entriesOf(client);
  expect(JSON.stringify(entries)).not.toContain("hush");
  const updated = entries.find(({ action }) => action === "deployment.updated");
  expect(updated).toMatchObject({
    targets: [{ type: "deployment", name: `${made.owner}/${made.name}` }],
    changes: {
      before: { release: 1, idle_seconds: null },
      after: { release: 2, idle_seconds: 5 },
    },
  });
});
