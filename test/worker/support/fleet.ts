/** Runners as an operator has them. */
import type { RunnerState } from "../../../src/protocol/operator.ts";
import type { SessionRequest } from "../../../src/protocol/runner.ts";
import { pageAt } from "./catalogue.ts";
import { FakeRunner } from "./runner.ts";
import { newRunnerToken, operator, unique } from "./world.ts";

/** A runner with room for three, on hardware of its own. */
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

/** What the operator is told of a runner. */
export async function shown(id: string): Promise<RunnerState | undefined> {
  const { items } = await pageAt<RunnerState>(operator, "/v1/operator/runners?page_size=50");
  return items.find((item) => item.id === id);
}
