/** Runners from the view of an operator. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import type { RunnerState } from "../../../src/protocol/fleet.ts";
import type { RunnerToken } from "../../../src/protocol/operator.ts";
import type { SessionRequest } from "../../../src/protocol/runner.ts";
import { pageAt } from "./catalogue.ts";
import { eventually } from "./eventually.ts";
import { FakeRunner } from "./runner.ts";
import { passes } from "./time.ts";
import { newRunnerToken, operator, unique, type World } from "./world.ts";

/** Returns a runner with three slots, on hardware of its own. */
export async function registered(
  name = unique("box"),
  changes: Partial<SessionRequest> = {},
): Promise<{ hardware: string; token: string; name: string; runner: FakeRunner }> {
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: "Box" });
  const token = await newRunnerToken(hardware);
  return {
    hardware,
    token,
    name,
    runner: await FakeRunner.begin(token, hardware, name, 3, changes),
  };
}

/** Returns a runner's state as an operator reads it. */
export async function shown(id: string): Promise<RunnerState | undefined> {
  const { items } = await pageAt<RunnerState>(operator, "/v1/operator/runners?page_size=50");
  return items.find((item) => item.id === id);
}

/** Returns a runner that has taken three jobs and reported on none. */
export async function setAside(world: World): Promise<FakeRunner> {
  const idle = await world.runner();
  for (let n = 0; n < 3; n++) {
    const id = await world.waiting();
    const job = await idle.take();
    expect(job.prediction_id).toBe(id);
    await passes(5.1, id);
    // The job returns to the line, because no other runner is there, and leaves it with the cancel.
    await world.client.cancel(id);
    await eventually(async () =>
      expect((await env.POOL.getByName(world.hardware).status()).waiting).toBe(0),
    );
  }
  return idle;
}

/** Revokes a token as an operator does. */
export async function revoke(token: string): Promise<void> {
  const { items } = await pageAt<RunnerToken>(operator, "/v1/operator/runner_tokens?page_size=50");
  const found = items.find(({ prefix }) => token.startsWith(prefix));
  await operator.ok("DELETE", `/v1/operator/runner_tokens/${found?.id}`);
}

/** Revokes a token in D1 only, so that no object learns of it. */
export const revokeInDatabase = (token: string) =>
  env.DB.prepare("UPDATE runner_tokens SET revoked_at = 1 WHERE prefix = ?")
    .bind(tokenPrefix(token))
    .run();

/** Returns the rows of a runner on the page of the fleet. */
export const rowsOf = (html: string, id: string) =>
  [...html.matchAll(new RegExp(`<tr data-part="${id} .*?</tr>`, "gs"))].map(([row]) => row);

export const gpu = { name: "NVIDIA L40S", memory_gb: 45 };
export const withGpus = { cpus: 16, memory_gb: 128, gpus: [gpu, gpu] };
export const device = (n: number, holder: string | null, lost?: true) => ({
  id: `GPU-${n}`,
  ...gpu,
  holder,
  ...(lost && { lost }),
});
