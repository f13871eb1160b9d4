/** The prices of a version: dated entries beside it, since a version never changes. */
import { z } from "zod";
import { orNull, timestamp } from "./common.ts";
import { amount, decimalAmount } from "./money.ts";

/** The fields of prices. @param price makes the schema of one, from its description */
const fields = <Price extends z.ZodType>(price: (description: string) => Price) => ({
  per_run: price("For each run that the model began"),
  per_second: price("For each second of a run, in place of the hardware's price per hour"),
  per_million_input_tokens: price("For a million input tokens"),
  per_million_cached_tokens: price(
    "For a million input tokens that come from a cache. If omitted, they cost what other input tokens do",
  ),
  per_million_output_tokens: price("For a million output tokens"),
  per_image: price("For each image"),
  per_audio_second: price("For each second of audio"),
});

/** The prices of a request, which become integers of billionths. */
const pricesToSet = z
  .strictObject(fields((description) => amount.optional().meta({ description, example: "0.25" })))
  .refine((prices) => Object.values(prices).some((price) => price !== undefined), {
    message: "Set at least one price, or send null to end all prices",
  })
  .meta({ id: "SetPrices" });
export type Prices = z.infer<typeof pricesToSet>;

const shownPrices = z
  .object(fields((description) => decimalAmount.optional().meta({ description, example: "0.25" })))
  .meta({ id: "Prices" });
export type ShownPrices = z.infer<typeof shownPrices>;

/** Prices are set by the owner of the model, or by an operator. */
export const SETTERS = ["owner", "operator"] as const;
export type Setter = (typeof SETTERS)[number];

export const setVersionPrices = z
  .strictObject({
    prices: orNull(pricesToSet).meta({
      description:
        "All prices from then on, at least one. Null ends them: the price of the hardware alone counts again",
    }),
    from: timestamp.optional().meta({
      description: "When the prices begin to count, which is not in the past. If omitted: now",
      example: "2026-12-01T00:00:00Z",
    }),
  })
  .meta({ id: "SetVersionPrices", example: { prices: { per_million_input_tokens: "0.25" } } });
export type SetVersionPrices = z.infer<typeof setVersionPrices>;

export const versionPrices = z
  .object({
    set_by: z.enum(SETTERS).meta({
      description:
        "`owner`: they count for runs of the owner's account. `operator`: they count for all runs, in place of the owner's",
    }),
    from: timestamp,
    prices: orNull(shownPrices).meta({
      description: "Null: from then on, these prices do not count",
    }),
  })
  .meta({ id: "VersionPrices" });
export type VersionPrices = z.infer<typeof versionPrices>;
