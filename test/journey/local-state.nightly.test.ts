/** The state folder of a local deployment. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { keptRunnerToken, publishModels, type Seed, seeded } from "../../src/dev/seed.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { hardware } from "../../src/protocol/hardware.ts";
import { model } from "../../src/protocol/model.ts";
import { runnerToken } from "../../src/protocol/operator.ts";
import { workerdPid } from "../processes/workerd.ts";
import { USERNAME } from "./support/access.ts";
import { startWorker } from "./support/deployment.ts";
import { World } from "./support/world.ts";

type Spoil = (database: Database, schemas: string) => unknown;
type Database = Awaited<ReturnType<Awaited<ReturnType<typeof startWorker>>["database"]>>;

const replaced = (file: string, pattern: RegExp, by: string) =>
  writeFileSync(file, readFileSync(file, "utf8").replace(pattern, by));

test.each<[string, Spoil]>([
  [
    "with a migration that is not here",
    (database) =>
      database.exec("UPDATE d1_migrations SET name = '0000_of_another_version.sql' WHERE id = 1"),
  ],
  ["whose migrations had another text", (_, file) => replaced(file, /.sql":"\w/, '.sql":"x')],
  ["whose objects had other tables", (_, file) => replaced(file, /"objects":"\w/, '"objects":"x')],
  ["that does not say what it was made with", (_, file) => rmSync(file)],
])("state %s is refused with advice, and workerd ends", async (_, spoil) => {
  const stateFolder = mkdtempSync(join(tmpdir(), "auspex-state-"));
  onTestFinished(() => rmSync(stateFolder, { recursive: true, force: true }));
  const first = await startWorker({ stateFolder });
  await spoil(await first.database(), join(stateFolder, "schemas.json"));
  await first.stop();
  await expect(startWorker({ stateFolder })).rejects.toThrow(
    `The state in ${stateFolder} was created by another version of Auspex. Delete it and start again: rm -r ${stateFolder}`,
  );
  await vi.waitFor(() => expect(workerdPid()).toBeUndefined());
});

test("the example models move to another class of hardware, and get no version for it", async () => {
  const world = await World.open();
  onTestFinished(() => world.close());
  const body = { name: "Elsewhere" };
  await world.operator.call(hardware, "PUT", "/operator/hardware/elsewhere", { body });
  const { models } = inject("prepared");
  for (const identifier of ["elsewhere", "cpu"]) {
    await publishModels(world.client, USERNAME, models, identifier);
    const hello = await world.client.call(model, "GET", `/models/${USERNAME}/hello`);
    expect(hello).toMatchObject({ hardware: { identifier }, latest_version: { number: 1 } });
  }
});

test("the tokens and models of one start are kept for the next, unless a token has been revoked", async () => {
  const world = await World.open();
  onTestFinished(() => world.close());
  const { operator, access } = world;
  const start = (last?: Seed) => seeded(operator, access.url, "grace", last);
  const first = await start();
  expect(await start(first)).toBe(first);
  const path = "/operator/runner_tokens";
  const { items } = await operator.call(pageOf(runnerToken), "GET", path);
  const own = items.find(({ prefix }) => first.runnerToken.startsWith(prefix));
  await operator.call(z.object({}), "DELETE", `${path}/${own?.id}`);
  const second = await start(first);
  expect(second.runnerToken).not.toBe(first.runnerToken);
  expect(await start(second)).toBe(second);
  for (const [token, kept] of [
    [first.runnerToken, undefined],
    [second.runnerToken, second.runnerToken],
    [undefined, undefined],
  ])
    expect(await keptRunnerToken(access.url, token, "cpu")).toBe(kept);
});
