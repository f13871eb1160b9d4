/** The export of an account: lines of JSON, each with its type. */
import { z } from "zod";
import { auditEvent } from "./audit.ts";
import { problem, timestamp, uuid } from "./common.ts";
import { deployment } from "./deployment.ts";
import { model, version } from "./model.ts";
import { token } from "./operator.ts";
import { collaborator, shareLevel } from "./organization.ts";
import { prediction, predictionWithIO } from "./prediction.ts";
import { upload } from "./upload.ts";
import { usageSums } from "./usage.ts";
import { user } from "./user.ts";
import { webhookEndpoint } from "./webhook.ts";

const line = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

/** Sums of the predictions of a day with the same version, token, member, hardware and release. */
export const exportedUsage = z.object({
  day: z.iso.date(),
  model_id: uuid,
  model: z.string().meta({ description: "The model's last `owner/name` on that day" }),
  version_number: z.int(),
  token_id: z
    .union([uuid, z.literal(["start_check", "warm_up"])])
    .nullable()
    .meta({
      description:
        "Token that created the predictions; null for the dashboard, `start_check` for start checks of `auspex publish`, `warm_up` for containers that deployments keep running",
    }),
  token: z.string().nullable().meta({ description: "Name of the token" }),
  member_id: uuid.nullable().meta({
    description:
      "For an organization: ID of the member or service token that created the predictions. Otherwise null",
  }),
  member: z.string().nullable(),
  hardware: z.string(),
  deployment: z
    .string()
    .nullable()
    .meta({ description: "`owner/name` of the deployment that was called. Null: a model was" }),
  release: z.int().nullable().meta({ description: "Number of the deployment's release" }),
  ...usageSums,
});

export const exportLine = z
  .discriminatedUnion("type", [
    line("export", {
      format: z
        .literal(1)
        .meta({ description: "Format version. Increases if the meaning of a line changes" }),
      created_at: timestamp,
      user,
      email: z.email().nullable().meta({ description: "Null if no one can log in as this user" }),
    }),
    line("token", { token }),
    line("model", {
      model: model.omit({ latest_version: true }),
      variable_names: z.array(z.string()),
      collaborators: z.array(collaborator),
    }),
    line("shared_model", {
      model: z.string().meta({ description: "`owner/name` of a model that is shared with you" }),
      level: shareLevel,
      created_at: timestamp,
    }),
    line("version", { model_id: uuid, version }),
    line("deployment", { deployment }),
    line("webhook_endpoint", { webhook_endpoint: webhookEndpoint }),
    line("upload", { upload: upload.omit({ urls: true, parts: true, part_size: true }) }),
    line("usage", { usage: exportedUsage }),
    line("audit_event", { audit_event: auditEvent }),
    line("prediction", {
      prediction: predictionWithIO,
      missing: z.int().optional().meta({
        description: "Number of values that are null because they were deleted during the export",
      }),
    }),
    line("file", { prediction_id: uuid, name: z.string(), size: z.int(), url: z.url() }),
    /** A prediction that could not be read just now, or its files. */
    line("failure", { prediction, detail: z.string() }),
    line("problem", { problem }),
    /** The last line: an export without it was cut short. */
    line("end", {
      predictions: z.int(),
      failures: z.int(),
      next_url: z
        .url()
        .nullable()
        .meta({ description: "URL of the older predictions; null in the last response" }),
    }),
  ])
  .meta({ id: "ExportLine", description: "A line of an export" });
export type ExportLine = z.infer<typeof exportLine>;

export const exportQuery = z.strictObject({
  before: uuid.optional().meta({
    description: "Exports only predictions created before this one",
  }),
});
