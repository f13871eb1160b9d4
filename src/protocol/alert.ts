/** Alerts, as operators see them and as messages have them. */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";

const severity = z.enum(["critical", "warning"]).meta({
  description: "`critical`: predictions suffer from it. Operators are reminded of these each day",
});

const described = {
  id: uuid,
  rule: z.string().meta({ description: "Name of the rule", example: "runner_lost" }),
  severity,
  title: z.string().meta({ example: "Runner lost" }),
  subject: z.string().meta({
    description:
      "ID of the runner, webhook endpoint, account or token, identifier of the hardware class, or `owner/name` of the model. Empty if the alert is about the deployment",
    example: "l40s",
  }),
  name: z.string().meta({ description: "Name of the subject", example: "rack-1" }),
  text: z.string().meta({
    description: "What was seen when it began",
    example: "Offline. Last seen about 2 min ago.",
  }),
  todo: z.string().meta({ description: "What to do" }),
  url: z.string().meta({
    description: "Where to do it; a path unless ALERT_ORIGIN is set",
    example: "https://auspex.example.com/fleet",
  }),
  since: timestamp,
  ended_at: timestamp.nullable(),
};

/** The body of a message in the format `webhook`. */
export const alertMessage = z.strictObject({
  type: z.literal("alerts"),
  created_at: timestamp,
  alerts: z.array(
    z.strictObject({
      ...described,
      message_id: z.string(),
      event: z.enum(["began", "reminder", "ended"]),
    }),
  ),
});
export type AlertMessage = z.infer<typeof alertMessage>;

export const alert = z
  .object({
    ...described,
    notified_at: timestamp.nullable().meta({
      description: "When the last message that it holds was sent. Null if none was",
    }),
    error: z.string().nullable().meta({
      description: "Why the last message was not sent. Null if it was, or none was due",
      example: null,
    }),
    silenced_until: timestamp.nullable().meta({
      description: "Until when no messages are sent about it, except one that it has ended",
    }),
    silenced_by: z.string().nullable().meta({
      description: "Username of the operator who silenced it. Null for OPERATOR_TOKEN",
      example: "ada",
    }),
  })
  .meta({ id: "Alert" });
export type AlertView = z.infer<typeof alert>;

export const silenceAlert = z
  .strictObject({
    hours: z.int().min(0).max(168).meta({ description: "For how long. 0 ends the silence" }),
  })
  .meta({ id: "SilenceAlert", example: { hours: 24 } });
