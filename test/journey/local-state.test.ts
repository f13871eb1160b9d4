/** The state that a local deployment finds in its folder. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { publishModels } from "../../src/dev/seed.ts";
import { hardware } from "../../src/protocol/hardware.ts";
import { model } from "../../src/protocol/model.ts";
import { workerdPid } from "../processes/workerd.ts";
import { USERNAME } from "./support/access.ts";
import { startWorker } from "./support/deployment.ts";
import { World } from "./support/world.ts";

test("state of another version is refused with what to do about it, and workerd ends", async () => {
  const stateFolder = mkdtempSync(join(tmpdir(), "auspex-state-"));
  onTestFinished(() => rmSync(stateFolder, { recursive: true, force: true }));
  const first = await startWorker({ stateFolder });
  const db = await first.database();
  await db.exec("UPDATE d1_migrations SET name = '0000_of_another_version.sql' WHERE id = 1");
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
