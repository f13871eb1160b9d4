/** Embeddings of the vendora convention. */
import { z } from "zod";
import { json } from "../common.ts";
import { vendoraModelName, vendoraWebhook } from "./chat.ts";

/** The convention's limit of inputs per request; texts are limited by the 10 MB body. */
const MAX_INPUTS = 2_048;
const text = z.string().max(10_000_000);
const tokens = z
  .array(
    z
      .int()
      .min(0)
      .max(2 ** 31 - 1),
  )
  .min(1)
  .max(1_000_000);

/** The body of POST /vendora/embeddings. */
export const embeddingRequest = z
  .object({
    model: vendoraModelName,
    input: z.union([
      text,
      z.array(text).min(1).max(MAX_INPUTS),
      tokens,
      z.array(tokens).min(1).max(MAX_INPUTS),
    ]),
    /** Both official clients request base64 by default. */
    encoding_format: z.enum(["float", "base64"]).nullish(),
    dimensions: z.int().min(1).max(1_000_000).nullish(),
    webhook: vendoraWebhook,
  })
  .catchall(json)
  .meta({ example: { model: "demo/meaning", input: ["cat", "kitten"] } });
export type EmbeddingRequest = z.infer<typeof embeddingRequest>;
