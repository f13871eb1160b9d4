/** The deployment, runner and receiver of all journeys in test/journey/runs. */
import { afterAll, beforeAll, vi } from "vitest";
import { Receiver } from "../../receiver/receiver.ts";
import { leaksIn, listen } from "./leaks.ts";
import type { Runner } from "./runner.ts";
import { World } from "./world.ts";

const VARIABLES = {
  WEBHOOK_ALLOW_INSECURE: "true",
  // So long that nothing but a manual redelivery comes in the time of a test.
  WEBHOOK_RETRY_SECONDS: "600",
  // Longer than any test, so a test would notice a wait for a silent receiver.
  WEBHOOK_TIMEOUT_SECONDS: "30",
  // The deployment is closed: each call needs a token or a signed address.
  ANONYMOUS: "none",
  SIGN_UP: "open",
};

export let world: World;
export let runner: Runner;
export let receiver: Receiver;
let logged: () => string[];

// This file is imported before anything registers a hook that needs the deployment.
beforeAll(async () => {
  logged = listen();
  receiver = await Receiver.open();
  world = await World.open({ variables: VARIABLES });
  runner = await world.runner("one", {
    slots: 16,
    environment: { AUSPEX_LOG_LEVEL: "debug" },
  });
});
afterAll(async () => {
  await world.close();
  await receiver.close();
  vi.restoreAllMocks();
});

/** Returns the secrets that are in the logs of the deployment or the runner, or in other texts. */
export const leaks = (secrets: string[], texts: string[] = []) =>
  leaksIn([...logged(), ...runner.lines, ...texts], secrets);
