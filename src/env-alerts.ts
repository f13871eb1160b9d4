/** The variables of alerts: where messages go, from when on there are any, and who sees the status made from them. */
import { z } from "zod";
import { origin } from "./env-origin.ts";

export const alertVariables = {
  /** Empty: no messages. */
  ALERT_URL: z.union([z.literal(""), z.url({ protocol: /^https?$/ })]).default(""),
  ALERT_FORMAT: z.enum(["webhook", "slack", "discord", "pagerduty"]).default("webhook"),
  ALERT_ORIGIN: origin.optional(),
  ALERT_WAIT_MINUTES: z.coerce.number().positive().default(10),
  ALERT_FAILURE_PERCENT: z.coerce.number().positive().max(100).default(50),
  STATUS: z.enum(["operators", "public"]).default("operators"),
};

const shape = z.object(alertVariables);
type Variables = z.infer<typeof shape>;

export type AlertFormat = Variables["ALERT_FORMAT"];

export interface AlertSettings {
  /** The receiver of messages. It may contain a secret. Undefined: none are sent. */
  url: string | undefined;
  format: AlertFormat;
  /** The scheme and host of this deployment, for links in messages. Undefined: links are paths. */
  origin: string | undefined;
  longWaitMs: number;
  /** The share of a model's runs that may fail, 0 to 1. */
  maxFailures: number;
  /** Whether everybody may read the status of the deployment. */
  isStatusPublic: boolean;
}

export const alertSettings = (v: Variables): AlertSettings => ({
  url: v.ALERT_URL || undefined,
  format: v.ALERT_FORMAT,
  origin: v.ALERT_ORIGIN,
  longWaitMs: v.ALERT_WAIT_MINUTES * 60_000,
  maxFailures: v.ALERT_FAILURE_PERCENT / 100,
  isStatusPublic: v.STATUS === "public",
});
