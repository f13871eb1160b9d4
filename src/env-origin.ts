import { z } from "zod";

/** A scheme and a host. Empty: not set. */
export const origin = z
  .union([z.literal(""), z.url({ protocol: /^https?$/ })])
  .transform((text) => (text ? new URL(text).origin : undefined));
