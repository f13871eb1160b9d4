/** Organisations: the roles of their members, and the levels at which models are shared. */
import { z } from "zod";

/** From the lowest to the highest. Each role may do what those before it may. */
export const ROLES = ["member", "developer", "admin", "owner"] as const;
export const role = z.enum(ROLES);
export type Role = z.infer<typeof role>;

/** `run`: see and run the model. `write`: publish versions, edit texts and examples, push its image as well. */
export const shareLevel = z.enum(["run", "write"]);
export type ShareLevel = z.infer<typeof shareLevel>;

export const accountKind = z.enum(["user", "organization"]);
export type AccountKind = z.infer<typeof accountKind>;
