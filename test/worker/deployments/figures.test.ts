/** Figures of releases: which runs they count, and who sees them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ListedRelease, ReleaseFigures } from "../../../src/protocol/deployment.ts";
import { run } from "../support/accounts.ts";
import { setPrice } from "../support/budgets.ts";
import { pageAt, publish } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newDeployment } from "../support/deployments.ts";
import { eventually } from "../support/eventually.ts";
import { newOrganization } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { addUsage } from "../support/usage.ts";
import { newClient, newUser, newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const at = (path: string) => `/v1/deployments/${path}`;

/** Returns the figures of each release, the newest first. */
const figuresOf = async (client: Client, path: string): Promise<(ReleaseFigures | null)[]> =>
  (await pageAt<ListedRelease>(client, `${at(path)}/releases`)).items.map(({ figures }) => figures);

const countsOf = async (client: Client, path: string) =>
  (await figuresOf(client, path)).map((one) => one && [one.predictions, one.failed, one.cost]);

/** Adds rows of usage for the releases of a deployment. */
async function deployed(world: World) {
  const { name } = await newDeployment(world.client, { model: world.model });
  const [row] = await run("SELECT id FROM deployments WHERE name = ?", name);
  const deployment_id = String(row?.id);
  const today = new Date().toISOString().slice(0, 10);
  const counted = (changes: object, day = today) =>
    addUsage(world.user_id, day, { deployment_id, release: 1, predictions: 1, ...changes });
  return { path: `${world.username}/${name}`, counted, today };
}

test("figures of a release count its runs, those that failed, their times and their cost", async () => {
  const world = await newWorld();
  const { client, username, model, runner } = world;
  await setPrice(world, "3600");
  await publish(client, model);
  const { name } = await newDeployment(client, { model, version: 1 });
  const path = `${username}/${name}`;
  const one = await runner();
  const runs = async (called: string, status?: "failed") => {
    await client.create({ model: called, input: {} });
    advance(1);
    const { channel } = await one.work();
    advance(2);
    const took = { output: "none", execution_seconds: 2 } as const;
    const error = { source: "external", message: "no" } as const;
    await channel.report(
      [],
      status ? { ...took, status, error } : { ...took, status: "succeeded" },
    );
  };
  await runs(path);
  await runs(path, "failed");
  await runs(model);
  const { body } = await client.create({ model: path, input: {} });
  await client.cancel(body.id);
  await client.ok("PATCH", at(path), { version: 2 });
  await runs(path);
  await eventually(async () =>
    expect((await figuresOf(client, path)).map((of) => of?.predictions)).toEqual([1, 3]),
  );
  const [second, first] = await figuresOf(client, path);
  expect(second).toMatchObject({ failed: 0, cost: "2", currency: "USD" });
  expect(first).toMatchObject({ failed: 1, cost: "4", setup_seconds: null });
  // Times are known up to the bounds of their bucket.
  expect(second?.execution_seconds?.p50).toBeGreaterThan(1.28);
  expect(second?.execution_seconds?.p95).toBeLessThanOrEqual(2.56);
  expect(first?.queue_seconds?.p95).toBeGreaterThan(0.64);
  expect(first?.queue_seconds?.p95).toBeLessThanOrEqual(1.28);
});

test("figures are of the last 30 days", async () => {
  const world = await newWorld();
  const { path, counted, today } = await deployed(world);
  const daysAgo = (days: number) =>
    new Date(Date.parse(today) - days * 86_400_000).toISOString().slice(0, 10);
  await counted({ predictions: 4 }, daysAgo(30));
  await counted({ predictions: 2 }, daysAgo(29));
  await counted({ token_id: "warm_up", predictions: 8 });
  const [figures] = await figuresOf(world.client, path);
  expect(figures).toMatchObject({ since: daysAgo(29), predictions: 2, execution_seconds: null });
});

test("a deployment does not have the figures of another one that had its name", async () => {
  const world = await newWorld();
  const { path, counted } = await deployed(world);
  await counted({ failed: 1 });
  expect(await countsOf(world.client, path)).toEqual([[1, 1, "0"]]);
  await world.client.ok("DELETE", at(path));
  const [, name = ""] = path.split("/");
  await newDeployment(world.client, { name, model: world.model });
  expect(await countsOf(world.client, path)).toEqual([[0, 0, "0"]]);
});

test("members see figures of their own runs, and developers those of all", async () => {
  const organization = await newOrganization();
  const { path, counted } = await deployed(organization);
  const [member, developer] = [
    await organization.join("member"),
    await organization.join("developer"),
  ];
  await counted({ maker: member.user_id, cost: 1_000_000_000 });
  await counted({ maker: developer.user_id, failed: 1, cost: 2_000_000_000 });
  expect(await countsOf(member.client, path)).toEqual([[1, 0, "1"]]);
  expect(await countsOf(developer.client, path)).toEqual([[2, 1, "3"]]);
});

test("tokens that are limited to some models see no figures, and other accounts no releases", async () => {
  const world = await newWorld();
  const { path, counted } = await deployed(world);
  await counted({});
  const limited = await newClient(world.username, { models: [world.model] });
  expect(await figuresOf(limited, path)).toEqual([null]);
  const { client: stranger } = await newUser();
  expect((await stranger.json("GET", `${at(path)}/releases`)).status).toBe(404);
});
