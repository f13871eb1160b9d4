/** `npm run verify` on a deployment of this machine. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runChecks } from "../../../src/dev/verify/check.ts";
import { streamAcrossDeploy } from "../../../src/dev/verify/stream.ts";
import { NAME, Visit } from "../../../src/dev/verify/visit.ts";
import { webhookToItself } from "../../../src/dev/verify/webhook.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { hardware } from "../../../src/protocol/hardware.ts";
import { runnerToken, token } from "../../../src/protocol/operator.ts";
import { OPERATOR_TOKEN } from "../support/access.ts";
import { World } from "../support/world.ts";
import { runScript } from "./support/script.ts";

let world: World;

beforeAll(async () => {
  // A restart of the deployment may take longer than the 2 s lease of other journeys, and the runner would be
  // lost.
  const variables = { WEBHOOK_ALLOW_INSECURE: "true", LEASE_SECONDS: "20" };
  world = await World.open({ variables });
});
afterAll(() => world.close());

const verify = (environment: Record<string, string>, ...args: string[]) =>
  runScript("src/dev/verify/main.ts", args, environment);

/** Returns the resources that a visit creates and has to remove. */
async function left() {
  const { operator } = world;
  const [tokens, runnerTokens, classes, runners] = await Promise.all([
    operator.call(pageOf(token), "GET", `/operator/users/${NAME}/tokens`),
    operator.call(pageOf(runnerToken), "GET", "/operator/runner_tokens"),
    world.client.call(pageOf(hardware), "GET", "/hardware"),
    world.runnerStates(),
  ]);
  return {
    tokens: tokens.items,
    runnerTokens: runnerTokens.items.filter((one) => one.hardware.includes(NAME)),
    classes: classes.items.filter(({ identifier }) => identifier === NAME),
    runners: runners.filter((one) => one.hardware.includes(NAME)),
  };
}
const NOTHING = { tokens: [], runnerTokens: [], classes: [], runners: [] };

test("npm run verify runs every check but the deploy, and removes what it created", async () => {
  const { code, output } = await verify({ OPERATOR_TOKEN }, world.access.url);
  expect(code, output).toBe(0);
  for (const row of ["Pages", "README's call", "Interrupted stream", "Webhook"])
    expect(output).toMatch(new RegExp(`^${row} +ok `, "m"));
  expect(output).toContain("delivered to this machine with a valid signature");
  expect(output).toMatch(/^Stream across a deploy +left out .* pass --deploy/m);
  expect(await left()).toEqual(NOTHING);
});

test("a webhook without a tunnel goes to the deployment, and a stream goes on across a restart", async () => {
  const visit = await Visit.begin(world.access.url, OPERATOR_TOKEN);
  const rows: string[] = [];
  const across = streamAcrossDeploy(async () => {
    world.killControlPlane();
    // A deploy ends once the service is back.
    await vi.waitFor(() => fetch(`${world.access.url}/health`), { interval: 200 });
  }, 3_000);
  const well = await runChecks([webhookToItself, across], visit, (row) => rows.push(row));
  await visit.end();
  expect(well, rows.join("\n")).toBe(true);
  expect(rows.join()).toContain("delivered to the deployment itself (405)");
  expect(rows.join()).toMatch(/each once and in order; resumed [2-9]/);
  expect(await left()).toEqual(NOTHING);
});

test("a check that fails is reported, and sets the exit code", async () => {
  const visit = await Visit.begin(world.access.url, OPERATOR_TOKEN);
  await visit.end();
  const rows: string[] = [];
  const check = streamAcrossDeploy(async () => {});
  expect(await runChecks([check], visit, (row) => rows.push(row))).toBe(false);
  expect(rows.join()).toMatch(/failed .*401/);
});

test("`npm run verify` without a token says how to call it", async () => {
  const { code, output } = await verify({}, world.access.url);
  expect(code).toBe(1);
  expect(output).toContain("AUSPEX_TOKEN=… npm run verify");
});
