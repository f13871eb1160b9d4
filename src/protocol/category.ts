/** Categories of models. */
import { z } from "zod";
import { slug } from "./common.ts";

export const categorySummary = z
  .object({ name: z.string(), slug: z.string() })
  .meta({ id: "CategorySummary" });
export type CategorySummary = z.infer<typeof categorySummary>;

export const category = categorySummary
  .extend({ description: z.string() })
  .meta({ id: "Category" });
export type Category = z.infer<typeof category>;

/** The body of PUT /operator/categories/{slug}. */
export const putCategory = z
  .object({ name: z.string().min(1).max(100), description: z.string().max(1_000).default("") })
  .meta({ id: "PutCategory", example: { name: "Weather", description: "Forecasts" } });

export const MAX_CATEGORIES = 20;
export const categorySlugs = z.array(slug).max(MAX_CATEGORIES);
