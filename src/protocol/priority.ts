/** How soon a prediction has its turn, among those that wait for a runner. */
import { z } from "zod";

/** From the last to the first. */
export const PRIORITIES = ["low", "normal", "high"] as const;

export const priority = z.enum(PRIORITIES).meta({
  id: "Priority",
  description:
    "Waiting predictions of a higher priority have their turn first, whoever made them; `low` counts as `normal` after 10 minutes",
});
export type Priority = z.infer<typeof priority>;

export const DEFAULT_PRIORITY: Priority = "normal";
