/** How soon a prediction has its turn, among those that wait for a runner. */
import { z } from "zod";

/** From the last to the first. */
export const PRIORITIES = ["low", "normal", "high"] as const;

export const priority = z.enum(PRIORITIES);
export type Priority = z.infer<typeof priority>;

export const DEFAULT_PRIORITY: Priority = "normal";
