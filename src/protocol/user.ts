/** Users, in the two shapes that a deployment can serve (`RESOURCE_SHAPE`). */

import { z } from "zod";
import { clearable, link, slug, timestamp, uuid } from "./common.ts";
import { decimalAmount } from "./money.ts";

export const resourceShape = z.enum(["A", "B"]);
export type ResourceShape = z.infer<typeof resourceShape>;

export const accountKind = z.enum(["user", "organization"]);
export type AccountKind = z.infer<typeof accountKind>;

const avatarUrl = z.string().meta({ description: "Empty if the user has no avatar" });

export const ownerA = z
  .object({ id: uuid, username: z.string(), avatar_url: avatarUrl, kind: accountKind })
  .meta({ id: "OwnerA" });

const ownerB = z
  .object({ account_id: uuid, name: z.string(), avatar_url: avatarUrl, kind: accountKind })
  .meta({ id: "OwnerB" });

export const owner = z.union([ownerA, ownerB]).meta({ id: "Owner" });
export type Owner = z.infer<typeof owner>;

const profile = {
  kind: accountKind,
  avatar_url: avatarUrl,
  bio: z.string(),
  location: z.string(),
  company: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
};

export const userA = z
  .object({
    id: uuid,
    username: z.string(),
    name: z.string(),
    urls: z.array(z.string()).meta({ description: "Personal and professional websites" }),
    ...profile,
  })
  .meta({ id: "UserA" });

export const userB = z
  .object({
    account_id: uuid,
    name: z.string().meta({ description: "Username" }),
    display_name: z.string(),
    ...profile,
  })
  .meta({ id: "UserB" });

export const user = z.union([userA, userB]).meta({ id: "User" });
export type User = z.infer<typeof user>;

/** The user that `npm run verify` makes and deletes with all it has: nobody else may have the name. */
export const VERIFIER = "auspex-verify";

/** Names of pages at the same level as that of an owner (/models/new). */
const PAGES = ["new", "publish", "shared"];

/** Names that others would take for the service itself, or for its staff. */
const OFFICIAL = [
  ...["abuse", "admin", "administrator", "anonymous", "anthropic", "api", "app", "auspex"],
  ...["billing", "blog"],
  ...["cdn", "contact", "dashboard", "docs", "files", "ftp", "help", "helpdesk", "hostmaster"],
  ...["info", "legal", "localhost", "login", "mail", "me", "moderator", "news", "no-reply"],
  ...["nobody", "noreply", "null", "official", "openai", "operator", "operators", "owner"],
  ...[
    "postmaster",
    "privacy",
    "registry",
    "replicate",
    "root",
    "sales",
    "security",
    "service",
    "staff",
    "status",
    "support",
  ],
  ...["sysadmin", "system", "team", "terms", "undefined", "user", "users", "webmaster", "www"],
];

const RESERVED = new Set([VERIFIER, ...PAGES, ...OFFICIAL]);

export const chosenUsername = slug.refine(
  (name) => !RESERVED.has(name) && !name.startsWith("auspex-"),
  "This name is reserved. Choose another one",
);

/** The body of PATCH /user: only fields that are sent change. */
export const updateUser = z
  .strictObject({
    username: chosenUsername,
    name: clearable(100),
    bio: clearable(1_000),
    urls: z
      .array(link)
      .max(20)
      .nullable()
      .transform((urls) => urls ?? []),
    location: clearable(100),
    company: clearable(100),
  })
  .partial()
  .meta({ id: "UpdateUser", example: { name: "Ada Lovelace", company: "Analytical Engines" } });
export type UpdateUser = z.infer<typeof updateUser>;

const space = z.object({
  bytes: z.int(),
  max_bytes: z.int().meta({ description: "Requests that need more are rejected" }),
});

const runs = {
  predictions: z.int(),
  failed: z.int(),
  execution_seconds: z.number(),
  cost: decimalAmount,
};

export const userUsage = z
  .object({
    month: z.object({
      since: z.iso
        .date()
        .meta({ description: "The first day of this month, UTC", example: "2026-11-01" }),
      currency: z.string(),
      ...runs,
      models: z
        .array(
          z.object({
            model: z
              .string()
              .nullable()
              .meta({ description: "Null for all other models together" }),
            ...runs,
          }),
        )
        .meta({ description: "The 50 most used models, most used first" }),
    }),
    files: space.meta({
      description:
        "Output files, large inputs and values, and uploads (pending ones with their declared size)",
    }),
    images: space.meta({
      description: "Images in this registry, each layer counted once, and pushes in progress",
    }),
    database: space.meta({
      description:
        "Models, versions, variables, tokens, uploads and endpoints, without predictions",
    }),
  })
  .meta({ id: "UserUsage" });
export type UserUsage = z.infer<typeof userUsage>;
export type UserStorage = Omit<UserUsage, "month">;

/** Returns the part before the name of a model in its path. */
export const ownerName = (owner: Owner): string =>
  "username" in owner ? owner.username : owner.name;
