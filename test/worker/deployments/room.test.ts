/** The room that a release needs: beside the one that runs, in its place, or after it has stopped. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ChangedDeployment, Deployment } from "../../../src/protocol/deployment.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { publish } from "../support/catalogue.ts";
import { at, newDeployment, reaches as released } from "../support/deployments.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { startClock, stopClock } from "../support/time.ts";
import { DIGEST, newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Returns an account that may keep containers running, and its runner with room for some. */
async function newRoom(max_containers: number) {
  const world = await newWorld();
  const { client, username, hardware, model } = world;
  await publish(client, model);
  await publish(client, model);
  await operator.ok("PUT", `/v1/operator/users/${username}/capacity/${hardware}`, { instances: 4 });
  // A runner that has no poll for a moment stays known.
  timersFollowClock();
  const runner = await world.runner(4);
  const having = (keys: Record<string, string>) => ({
    max_containers,
    containers: Object.entries(keys).map(([name, key]) => readyContainer({ name, key, hardware })),
  });
  /** Reports these containers, by their names and keys. @returns which of them the runner keeps */
  async function tell(keys: Record<string, string> = {}, changes: object = {}) {
    const { body } = await runner.tellState({ jobs: [], ...having(keys), ...changes });
    return (body.keep ?? []).filter((name) => name in keys).toSorted();
  }
  /** Takes the next start beside these containers, which succeeds. @returns its key, and what it stops */
  async function starts(keys: Record<string, string> = {}) {
    const [job] = await runner.claim(having(keys));
    if (!job) throw new Error("the poll was answered without a job");
    const channel = await runner.connect(job);
    await channel.report([{ event: "setup", data: { phase: "ready" } }]);
    await channel.report([], { status: "succeeded", output: "none" });
    return { key: job.keys.container, stop: job.stop ?? [] };
  }
  const change = (made: Deployment, body: object, query = "") =>
    client.json<ChangedDeployment & { detail: string }>("PATCH", at(made, query), body);
  const reaches = (made: Deployment, current: number, next: number | null) =>
    released(world, made, current, next);
  /** Creates a deployment of which one container is kept running, and has started as `one`. */
  async function started(body: object = {}) {
    const made = await newDeployment(client, { model, version: 1, min_instances: 1, ...body });
    const { key } = await starts();
    await reaches(made, 1, null);
    expect(await tell({ one: key })).toEqual(["one"]);
    return { made, one: key };
  }
  await tell();
  return { world, client, tell, starts, change, reaches, started };
}

test("a release starts beside the one that runs where the class has room for both", async () => {
  const { change, starts, started, reaches, tell } = await newRoom(2);
  const { made, one } = await started();
  expect(await change(made, { version: 2 })).toMatchObject({ status: 200 });
  const { key: two, stop } = await starts({ one });
  expect(stop).toEqual([]);
  await reaches(made, 2, null);
  expect(await tell({ one, two })).toEqual(["one", "two"]);
});

test("a release takes the place of the one that runs once the first of its containers has started", async () => {
  const { change, starts, started, reaches, tell } = await newRoom(3);
  const { made, one } = await started();
  expect(await change(made, { min_instances: 2 })).toMatchObject({ status: 200 });
  await starts({ one });
  expect(await tell({ one, two: one })).toEqual(["one", "two"]);
  expect(await change(made, { version: 2 })).toMatchObject({ status: 200 });
  expect(await tell({ one, two: one })).toEqual(["one", "two"]);
  const first = await starts({ one, two: one });
  expect(first.stop).toEqual([]);
  await reaches(made, 3, null);
  const old = { one, two: one, three: first.key };
  expect(await tell(old)).toEqual(["three"]);
  const second = await starts(old);
  expect(second).toEqual({ key: first.key, stop: [expect.stringMatching(/^(one|two)$/)] });
});

test("a release without room beside the one that runs is refused, unless downtime is allowed", async () => {
  const { change, starts, started, reaches, tell, world } = await newRoom(1);
  const { made, one } = await started({ version: 2 });
  await tell({ one }, { measured: [{ key: one, setup_ms: 89_500, run_ms: 1_000 }] });
  const refusal = (time: string) => ({
    status: 409,
    body: {
      detail: `'${world.hardware}' has no room for the new release beside the one that runs: its containers would have to stop first, and predictions wait ${time}. Repeat the request with allow_downtime=true to accept this.`,
    },
  });
  const unknown = refusal("for as long as the new container takes to start");
  expect(await change(made, { version: 1 })).toMatchObject(unknown);
  expect(await change(made, { version: 1 }, "?dry_run=true")).toMatchObject(unknown);
  expect(await tell({ one })).toEqual(["one"]);
  const allowed = await change(made, { version: 1 }, "?allow_downtime=true");
  expect(allowed.body).toMatchObject({
    current_release: { number: 1 },
    next_release: { number: 2 },
  });
  expect(await tell({ one })).toEqual([]);
  const { key: two, stop } = await starts({ one });
  expect(stop).toEqual(["one"]);
  await reaches(made, 2, null);
  await tell({ two });
  expect(await change(made, { version: 2 })).toMatchObject(refusal("for about 90 s"));
});

test("a release that its class could never hold is refused with the numbers", async () => {
  const { change, started, tell, world } = await newRoom(2);
  const { client, hardware, model } = world;
  const refusal = (room: number, min: number) => ({
    status: 409,
    body: {
      detail: `The runners of '${hardware}' have room for ${room} containers of this release beside those that other deployments claim, and min_instances is ${min}. Lower min_instances, or choose other hardware.`,
    },
  });
  const { made } = await started();
  const other = { name: "other", model, min_instances: 2 };
  expect(await client.json("POST", "/v1/deployments", other)).toMatchObject(refusal(1, 2));
  const larger = { version: 2, min_instances: 3 };
  expect(await change(made, larger, "?allow_downtime=true")).toMatchObject(refusal(2, 3));
  // A container that was lost leaves its place once.
  expect(await tell()).toEqual([]);
  expect(await change(made, larger, "?allow_downtime=true")).toMatchObject(refusal(2, 3));
});

test("the containers of the release before make room for the next one", async () => {
  const { change, starts, started, reaches, tell } = await newRoom(2);
  const { made, one } = await started();
  await change(made, { version: 2 });
  const { key: two } = await starts({ one });
  await reaches(made, 2, null);
  expect(await tell({ one, two })).toEqual(["one", "two"]);
  expect(await change(made, { version: 3 })).toMatchObject({ status: 200 });
  expect(await tell({ one, two })).toEqual(["two"]);
  expect((await starts({ one, two })).stop).toEqual(["one"]);
  await reaches(made, 3, null);
});

test("a release that replaces one that is starting has the room of that", async () => {
  const { change, started, reaches, tell } = await newRoom(2);
  const { made, one } = await started();
  await change(made, { version: 2 });
  // The start of version 2 is handed to the runner, which has not begun it yet.
  await tell({ one });
  expect(await change(made, { version: 3 })).toMatchObject({ status: 200 });
  await reaches(made, 1, 3);
});

test("a roll-back starts its containers in the place of those that run", async () => {
  const { client, change, starts, started, reaches, tell } = await newRoom(1);
  const { made, one } = await started();
  await change(made, { version: 2 }, "?allow_downtime=true");
  const { key: two } = await starts({ one });
  await reaches(made, 2, null);
  expect(await tell({ two })).toEqual(["two"]);
  await client.ok("POST", at(made, "/rollback"));
  expect(await tell({ two })).toEqual([]);
  expect(await starts({ two })).toEqual({ key: one, stop: ["two"] });
});

test("a change says which models' containers it displaces, without names that its account does not see", async () => {
  const { world, client, starts, tell } = await newRoom(4);
  const { hardware, model } = world;
  /** Runs a model of another account once. @returns the key of its containers, and its name */
  async function ran(visibility: "public" | "private") {
    const { client: other, username } = await newUser();
    const hosted = { name: "story", visibility, hardware_identifier: hardware };
    await other.ok("POST", "/v1/models", hosted);
    await other.ok("POST", `/v1/models/${username}/story/versions`, {
      ...{ release_notes: "", container_image_digest: DIGEST },
      schemas: { prediction: { input: {}, output: {} } },
    });
    await other.create({ model: `${username}/story`, input: {} });
    return { key: (await starts()).key, name: `${username}/story` };
  }
  const [seen, ...hidden] = [await ran("public"), await ran("private"), await ran("private")];
  await tell({ a: seen.key, b: hidden[0]?.key ?? "", c: hidden[1]?.key ?? "", d: seen.key });
  const body = { name: "chat", model, min_instances: 4 };
  const displaced = (
    await client.ok<ChangedDeployment>("POST", "/v1/deployments?dry_run=true", body)
  ).displaces;
  const expected = [
    { model: seen.name, containers: 2 },
    { model: null, containers: 2 },
  ];
  expect(displaced).toHaveLength(2);
  expect(displaced).toEqual(expect.arrayContaining(expected));
  expect((await client.json("GET", at({ owner: world.username, name: "chat" }))).status).toBe(404);
  expect((await newDeployment(client, body)).displaces).toEqual(displaced);
});
