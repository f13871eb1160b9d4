/** Tokens that a server issues for web pages, and for the readers of a prediction's events. */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";
import { amount, decimalAmount } from "./money.ts";
import { modelName } from "./operator.ts";
import { webOrigin } from "./token-limits.ts";

const MAX_LISTED = 10;
export const MAX_SIGNED_SECONDS = 3_600;
export const SIGNED_SECONDS = 600;

const expiresIn = z
  .int()
  .min(1)
  .max(MAX_SIGNED_SECONDS)
  .optional()
  .meta({ description: "Seconds until the token expires. By default, 600" });

export const createClientToken = z
  .strictObject({
    expires_in: expiresIn,
    models: z
      .array(modelName)
      .min(1)
      .max(MAX_LISTED)
      .meta({ description: "The models that it can run, of those that your token can run" }),
    origins: z
      .array(webOrigin)
      .min(1)
      .max(MAX_LISTED)
      .meta({ description: "Origins of the web pages that can use it" }),
    max_predictions: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .meta({ description: "How many predictions it can create in all. By default, any number" }),
    budget: amount.optional().meta({
      description:
        "What its predictions can cost in all, as decimal text or a number. By default, any amount",
      example: "0.5",
    }),
  })
  .meta({
    id: "CreateClientToken",
    example: { models: ["demo/text-generation"], origins: ["https://app.example.com"] },
  });
export type CreateClientToken = z.infer<typeof createClientToken>;

export const clientToken = z
  .object({
    id: uuid,
    token: z.string().meta({ example: "ausc_eyJpZCI6…" }),
    models: z.array(z.string()),
    origins: z.array(z.string()),
    max_predictions: z.int().nullable(),
    budget: decimalAmount.nullable(),
    expires_at: timestamp,
  })
  .meta({ id: "ClientToken", description: "Shown only in this response" });
export type ClientToken = z.infer<typeof clientToken>;

export const createStreamToken = z
  .strictObject({ expires_in: expiresIn })
  .meta({ id: "CreateStreamToken", example: { expires_in: 600 } });

export const streamToken = z
  .object({
    token: z.string().meta({ example: "ause_eyJpc3N1ZXIi…" }),
    url: z.url().meta({ description: "The event stream, with the token as its parameter" }),
    expires_at: timestamp,
  })
  .meta({ id: "StreamToken", description: "Shown only in this response" });
export type StreamToken = z.infer<typeof streamToken>;
