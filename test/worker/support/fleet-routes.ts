/** The pages and actions of the fleet, as the table of all pages has them. */

import type { RunnerState } from "../../../src/protocol/fleet.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { newAlert } from "./alerts.ts";
import { type DashboardRoute, operators } from "./dashboard-route.ts";
import {
  newDrainedRunner,
  newestId,
  newHardware,
  newRunnerPlace,
  newStoppedRunner,
} from "./route-parameters.ts";
import { newRunnerToken, operator, unique } from "./world.ts";

/** A runner is offline once it has been silent for some seconds, however slow the machine is. */
const runners = async () => {
  const { items } = await operator.ok<Page<RunnerState>>("GET", "/v1/operator/runners");
  return items.map(({ state, ...runner }) => runner);
};

const ofRunner: DashboardRoute = { ...operators, parameters: newRunnerPlace, readState: runners };

export const FLEET_ROUTES: Record<string, DashboardRoute> = {
  "GET /fleet": operators,
  "GET /fleet/metrics": operators,
  "GET /fleet/runners/:id": ofRunner,
  "GET /fleet/runners/:id/log": ofRunner,
  "GET /fleet/runners/:id/log.txt": ofRunner,
  // The log is requested and kept in memory only: test/worker/runners/runner-log.test.ts.
  "POST /fleet/runners/:id/log": {
    ...ofRunner,
    changesNothing: true,
  },
  "POST /fleet/runners/:id/drain": ofRunner,
  "POST /fleet/runners/:id/resume": { ...ofRunner, parameters: newDrainedRunner },
  "POST /fleet/runners/:id/remove": { ...ofRunner, parameters: newStoppedRunner },
  "GET /fleet/tokens": operators,
  "POST /fleet/tokens": {
    ...operators,
    status: 200,
    form: () => ({ name: "rack", hardware: "cpu" }),
  },
  "POST /fleet/tokens/:id/revoke": {
    ...operators,
    parameters: () => newRunnerToken("cpu").then(() => newestId("runner_tokens")),
  },
  "GET /alerts": operators,
  "GET /status": operators,
  "POST /alerts/:id/silence": {
    ...operators,
    parameters: async () => ({ id: await newAlert() }),
    form: () => ({ hours: "1" }),
  },
  "GET /fleet/hardware": operators,
  "POST /fleet/hardware": {
    ...operators,
    form: () => ({ identifier: unique("hw"), name: "Box" }),
  },
  "GET /fleet/hardware/:identifier": { ...operators, parameters: newHardware },
  "POST /fleet/hardware/:identifier": {
    ...operators,
    parameters: newHardware,
    form: () => ({ name: "Another box" }),
  },
  "POST /fleet/hardware/:identifier/delete": { ...operators, parameters: newHardware },
};
