/** The page of a deployment. */
import { expect, test } from "vitest";
import type { Deployment } from "../../../src/protocol/deployment.ts";
import { run } from "../support/accounts.ts";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { newDashboardOrganization, newDashboardUser } from "../support/dashboard-users.ts";
import { newDeployment } from "../support/deployments.ts";
import { textOf } from "../support/page-text.ts";
import { addUsage } from "../support/usage.ts";

const MEASURES = JSON.stringify({ "queue:0": 2, "setup:7": 1, "run:8": 1, "run:9": 1 });

test("the page of a deployment has each release with its figures", async () => {
  const { visitor, client, user_id } = await newDashboardUser();
  const model = referenceOf(await newModel(client));
  await publish(client, model);
  const { name, owner } = await newDeployment(client, { model });
  await client.ok("PATCH", `/v1/deployments/${owner}/${name}`, { max_instances: 3 });
  const page = async () => textOf((await visitor.look(`/account/deployments/${name}`)).html);
  expect(await page()).toContain(`by ${owner} 0 0 – – – 1 replaced`);
  const [row] = await run("SELECT id FROM deployments WHERE name = ?", name);
  const today = new Date().toISOString().slice(0, 10);
  const counts = { predictions: 1_204, failed: 12, cost: 1_500_000_000 };
  const of = { deployment_id: String(row?.id), release: 2 };
  await addUsage(user_id, today, { ...of, ...counts, measures: MEASURES });
  const text = await page();
  expect(text).toContain("without probes and starts of containers. Of each time");
  expect(text).toMatch(
    /2 runs \S+ 0 to 3 .+ 1,204 12 \(&lt; 1 %\) 5 ms \/ 10 ms 1\.0 s \/ 1\.2 s 2\.6 s \/ 4\.9 s \$1\.50/,
  );
});

test("the page of a deployment says to members that only their own predictions are counted", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const model = referenceOf(await newModel(account.client));
  await publish(account.client, model);
  const { name } = await newDeployment(account.client, { model });
  const page = async (visitor: typeof visitors.member) =>
    textOf((await visitor.look(`/account/deployments/${name}`)).html);
  expect(await page(visitors.member)).toContain("Only your own are counted.");
  expect(await page(visitors.developer)).not.toContain("Only your own are counted.");
});

test("the page of a deployment changes its model and hardware, and an empty version is the default one", async () => {
  const { visitor, client } = await newDashboardUser();
  const [first, second] = [
    referenceOf(await newModel(client)),
    referenceOf(await newModel(client)),
  ];
  for (const model of [first, second, second]) await publish(client, model);
  const { name, owner } = await newDeployment(client, { model: first });
  const address = `/account/deployments/${name}`;
  const { html } = await visitor.look(address);
  expect(html).toContain(`value="${first}"`);
  const read = () => client.ok<Deployment>("GET", `/v1/deployments/${owner}/${name}`);
  const { current_release: before } = await read();
  const hardware = before?.configuration.hardware ?? "";
  await visitor.send(address, { model: second, version: "", hardware });
  expect((await read()).current_release).toMatchObject({ number: 2, model: second, version: 2 });
});
