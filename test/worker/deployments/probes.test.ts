/** Probes: runs that must succeed before a release takes over. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import type { Deployment, Release } from "../../../src/protocol/deployment.ts";
import { sweepDeployments } from "../../../src/services/deployments/claims.ts";
import { run, services } from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import { at, newDeployment, newStarted, reaches, startsOf } from "../support/deployments.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { inAccount } from "../support/objects.ts";
import { newOrganization } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

test("a release with a probe takes over once the probe has succeeded", async () => {
  const { world, runner, made } = await newStarted();
  const { client } = world;
  const probe = { input: { prompt: "Who is the Mad Hatter?" } };
  await client.ok("PATCH", at(made), { version: 2, probe });
  const job = await runner.take();
  expect(job).toMatchObject({ input: probe.input });
  expect(job.warm_up).toBeUndefined();
  const channel = await runner.connect(job);
  await channel.report([{ event: "setup", data: { phase: "ready" } }]);
  await sweepDeployments(services, Date.now());
  await reaches(world, made, 1, 2);
  await channel.succeed("A hatter");
  await reaches(world, made, 2, null);
});

test("a probe may be an example of the model, whose input is copied", async () => {
  const { world, made } = await newStarted();
  const { client } = world;
  const example = unique("example");
  await run(
    `INSERT INTO examples (id, model_id, position, prediction_id, version_number, input, output, created_at)
      SELECT ?, model_id, 1, ?, 1, '{"prompt":"Hi"}', '"out"', 1 FROM releases
      WHERE deployment_id = (SELECT id FROM deployments WHERE name = ?)`,
    ...[example, example, made.name],
  );
  const changed = await client.ok<Deployment>("PATCH", at(made), {
    version: 2,
    probe: { example },
  });
  expect(changed.next_release?.configuration.probe).toEqual({ input: { prompt: "Hi" } });
  for (const [probe, message] of [
    [{ example: "none" }, "The model has no such example"],
    [{ example, input: {} }, "Send either 'input' or 'example'"],
  ] as const) {
    const body = { version: 1, probe };
    const refused = await client.json<{ detail: { msg: string }[] }>("PATCH", at(made), body);
    expect(refused.status).toBe(422);
    expect(refused.body.detail[0]?.msg).toContain(message);
  }
});

test("a probe that could not be created is tried again within a minute, and one that was created after two hours", async () => {
  const { world, made } = await newStarted();
  const lost = new Error("Network connection lost.");
  const creating = vi.spyOn(PredictionObject.prototype, "create").mockRejectedValue(lost);
  captureLog("error");
  await world.client.ok("PATCH", at(made), { version: 2, probe: { input: {} } });
  expect(creating).toHaveBeenCalled();
  vi.restoreAllMocks();
  const sweep = async (seconds: number) => {
    advance(seconds);
    await sweepDeployments(services, Date.now());
    return (await startsOf(world)).length;
  };
  expect(await startsOf(world)).toHaveLength(1);
  expect(await sweep(0)).toBe(1);
  expect(await sweep(60)).toBe(2);
  expect(await sweep(7_000)).toBe(2);
  expect(await sweep(200)).toBe(3);
  await reaches(world, made, 1, 2);
});

test("a probe whose input is refused fails its release, and says why", async () => {
  const { world, made } = await newStarted();
  const { client, model } = world;
  const properties = { image: { type: "string", format: "uri" } };
  const { number } = await client.ok<{ number: number }>("POST", `/v1/models/${model}/versions`, {
    release_notes: "",
    container_image_digest: `sha256:${"c".repeat(64)}`,
    schemas: { prediction: { input: { type: "object", properties }, output: {} } },
  });
  const probe = { input: { image: `/v1/uploads/${crypto.randomUUID()}` } };
  await client.ok("PATCH", at(made), { version: number, probe });
  await reaches(world, made, 1, null);
  const { items } = await pageAt<Release>(client, at(made, "/releases"));
  expect(items[0]).toMatchObject({
    number: 2,
    failure: expect.stringMatching(/^The probe has failed: .*was not found/),
  });
});

test("a probe is a run of the member who asks for it, and the start of a container is the account's", async () => {
  const organization = await newOrganization();
  const { username, hardware, model, user_id } = organization;
  await operator.ok("PUT", `/v1/operator/users/${username}/capacity/${hardware}`, { instances: 4 });
  await (await organization.runner(4)).tellState({ jobs: [], containers: [] });
  const { client, user_id: member } = await organization.join("developer");
  const claiming = { model, min_instances: 1 };
  await newDeployment(client, claiming);
  const makers = () => inAccount(user_id, "SELECT maker FROM predictions ORDER BY created_at");
  await sweepDeployments(services, Date.now());
  await eventually(async () => expect(await makers()).toEqual([{ maker: "" }]));
  advance(1);
  await newDeployment(client, { ...claiming, probe: { input: {} } });
  await sweepDeployments(services, Date.now());
  await eventually(async () => expect(await makers()).toEqual([{ maker: "" }, { maker: member }]));
});
