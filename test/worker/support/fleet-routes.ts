/** The pages and actions of the fleet, as the table of all pages has them. */

import { newAlert } from "./alerts.ts";
import { type DashboardRoute, operators } from "./dashboard-route.ts";
import {
  newDrainedRunner,
  newestId,
  newHardware,
  newRunnerPlace,
  newStoppedRunner,
} from "./route-parameters.ts";
import { newRunnerToken, unique } from "./world.ts";

export const FLEET_ROUTES: Record<string, DashboardRoute> = {
  "GET /fleet": operators,
  "GET /fleet/metrics": operators,
  "GET /fleet/runners/:id": { ...operators, parameters: newRunnerPlace },
  "GET /fleet/runners/:id/log": { ...operators, parameters: newRunnerPlace },
  "GET /fleet/runners/:id/log.txt": { ...operators, parameters: newRunnerPlace },
  // The log is requested and kept in memory only: test/worker/runners/runner-log.test.ts.
  "POST /fleet/runners/:id/log": {
    ...operators,
    parameters: newRunnerPlace,
    changesNothing: true,
  },
  "POST /fleet/runners/:id/drain": { ...operators, parameters: newRunnerPlace },
  "POST /fleet/runners/:id/resume": { ...operators, parameters: newDrainedRunner },
  "POST /fleet/runners/:id/remove": { ...operators, parameters: newStoppedRunner },
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
