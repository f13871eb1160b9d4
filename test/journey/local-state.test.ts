/** The state that a local deployment finds in its folder. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { workerdPid } from "../processes/workerd.ts";
import { startWorker } from "./support/deployment.ts";

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
