/** Usage, grouped as the caller asks for it. */
import { z } from "zod";
import { decimalAmount } from "./money.ts";

export const USAGE_GROUPS = [
  "day",
  "month",
  "model",
  "version",
  "member",
  "token",
  "hardware",
] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export const usageSums = {
  predictions: z.int().meta({ description: "Predictions that ended", example: 128 }),
  failed: z.int().meta({ example: 3 }),
  execution_seconds: z.number().meta({ example: 412.5 }),
  setup_seconds: z.number().meta({
    description: "Time that predictions waited for their containers to start",
    example: 31.2,
  }),
  input_tokens: z.int().meta({ description: "As reported by models", example: 52_000 }),
  output_tokens: z.int().meta({ example: 9_400 }),
  cached_tokens: z.int().meta({
    description: "The part of the input tokens that came from a cache",
    example: 20_000,
  }),
  images: z.int().meta({ example: 0 }),
  cost: decimalAmount,
};
