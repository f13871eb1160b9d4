/** The status of the deployment, as everybody may see it. */
import { z } from "zod";
import { timestamp } from "./common.ts";

const componentId = z.string().meta({
  description: "`control_plane`, `runners`, or `hardware/` and the identifier of a hardware class",
  example: "hardware/l40s",
});

const component = z.object({
  id: componentId,
  name: z.string().meta({ example: "NVIDIA L40S" }),
  state: z.enum(["operational", "busy", "degraded", "no_runners", "unavailable", "unknown"]).meta({
    description:
      "`busy`: every slot of the hardware class is in use. `no_runners`: no runner takes its work now. `degraded`: an incident holds. `unavailable`: the database does not answer. `unknown`: the state could not be read",
  }),
  days: z.array(z.int()).meta({
    description:
      "Seconds with an incident on each of the last 90 days (UTC), the oldest first and today last",
    example: [0, 0, 1260],
  }),
});
export type Component = z.infer<typeof component>;

export const statusReport = z
  .object({
    status: z.enum(["operational", "degraded", "down"]).meta({
      description: "`degraded`: an incident holds. `down`: the control plane is unavailable",
    }),
    checked_at: timestamp,
    components: z.array(component),
    incidents: z
      .array(
        z.object({
          component: componentId,
          title: z.string().meta({ example: "Long waits" }),
          began_at: timestamp,
          ended_at: timestamp.nullable().meta({ description: "Null while it holds" }),
        }),
      )
      .meta({ description: "Those that hold or ended within 90 days, newest first; at most 100" }),
  })
  .meta({ id: "Status" });
export type StatusReport = z.infer<typeof statusReport>;
