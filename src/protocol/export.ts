/** The export of an account: NDJSON, each line with its type. */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";
import { model, version } from "./model.ts";
import { token } from "./operator.ts";
import { predictionWithIO } from "./prediction.ts";
import { upload } from "./upload.ts";
import { user } from "./user.ts";
import { webhookEndpoint } from "./webhook-endpoint.ts";

const line = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

/** How predictions of a day, model and token add up. */
export const exportedUsage = z.object({
  day: z.string(),
  model: z.string(),
  token_id: z.string(),
  predictions: z.int(),
  failed: z.int(),
  execution_seconds: z.number(),
});

export const exportLine = z.discriminatedUnion("type", [
  line("export", { created_at: timestamp, user }),
  line("token", { token }),
  line("model", { model, variable_names: z.array(z.string()) }),
  line("version", { model: z.string(), version }),
  line("webhook_endpoint", { webhook_endpoint: webhookEndpoint }),
  line("upload", { upload }),
  line("usage", { usage: exportedUsage }),
  line("prediction", { prediction: predictionWithIO }),
  /** A file that a prediction has made. */
  line("file", { prediction_id: uuid, name: z.string(), size: z.int(), url: z.url() }),
  /** A prediction that could not be read just now. */
  line("failure", { prediction_id: uuid, detail: z.string() }),
  /** The last line: an export without it was cut short. */
  line("end", { next_url: z.url().nullable() }),
]);
export type ExportLine = z.infer<typeof exportLine>;

export const exportQuery = z.object({
  before: uuid.optional().meta({
    description: "Exports only predictions made before this one; from `next_url` of the last line",
  }),
});
