/** What models take as text: one or several, as text or as the numbers of tokens. */
import { z } from "zod";

/** The convention's limit of inputs per request; texts are limited by the 10 MB body. */
export const MAX_INPUTS = 2_048;
export const text = z.string().max(10_000_000);
const tokens = z
  .array(
    z
      .int()
      .min(0)
      .max(2 ** 31 - 1),
  )
  .min(1)
  .max(1_000_000);

export const textsOrTokens = z.union([
  text,
  z.array(text).min(1).max(MAX_INPUTS),
  tokens,
  z.array(tokens).min(1).max(MAX_INPUTS),
]);
