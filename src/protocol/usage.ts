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

/** The sums as they are stored and sent between parts: times in ms, the cost in billionths of the currency unit. */
export const storedSums = {
  predictions: z.number(),
  failed: z.number(),
  execution_ms: z.number(),
  setup_ms: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  images: z.number(),
  cost: z.number(),
};

const groupNames = <Name extends string>(names: readonly Name[]) =>
  z
    .string()
    .regex(
      new RegExp(`^(?:${names.join("|")})(?:,(?:${names.join("|")})){0,${names.length - 1}}$`),
      `Input should be one or several of ${names.join(", ")}, with commas between them`,
    );

const day = z.iso.date();

const usageFilter = {
  from: day.optional().meta({
    description: "First day (UTC). Default: the first of this month",
    example: "2026-11-01",
  }),
  to: day.optional().meta({ description: "Last day (UTC). Default: today", example: "2026-11-30" }),
  format: z.enum(["json", "csv"]).optional().meta({
    description: "`csv` for a CSV file, as with `Accept: text/csv`",
  }),
};

export const usageQuery = z.strictObject({
  group_by: groupNames(USAGE_GROUPS).default("model").meta({
    description:
      "`day`, `month`, `model`, `version`, `member`, `token` or `hardware`, or several with commas between them",
    example: "day,model",
  }),
  ...usageFilter,
});

export type UsageQuery = Omit<z.infer<typeof usageQuery>, "format">;

/** The days of a report, and its sums. */
const report = {
  from: day.meta({ example: "2026-11-01" }),
  to: day.meta({ example: "2026-11-30" }),
  currency: z.string().meta({ example: "USD" }),
  total: z.object(usageSums),
};

/** The fields of a group by time. */
const times = {
  day: day.optional().meta({ example: "2026-11-21" }),
  month: z.string().optional().meta({ example: "2026-11" }),
};

export const groupedUsage = z
  .object({
    group_by: z.array(z.enum(USAGE_GROUPS)),
    ...report,
    groups: z
      .array(
        z.object({
          ...times,
          model_id: z.string().optional(),
          model: z.string().optional().meta({ description: "Its latest `owner/name`" }),
          version_number: z.int().optional(),
          member_id: z.string().nullable().optional(),
          member: z.string().nullable().optional().meta({
            description:
              "The latest username of the member, or the name of the service token. Null in a person's own account",
          }),
          token_id: z.string().nullable().optional(),
          token: z.string().nullable().optional().meta({
            description: "The latest name of the token. Null for the dashboard",
          }),
          hardware: z.string().optional(),
          ...usageSums,
        }),
      )
      .meta({
        description:
          "A row for each group that has predictions, with the fields of what it is grouped by. By time first, then the dearest first",
      }),
  })
  .meta({ id: "Usage" });
export type Usage = z.infer<typeof groupedUsage>;

export const DEPLOYMENT_GROUPS = ["day", "month", "account"] as const;
export type DeploymentGroup = (typeof DEPLOYMENT_GROUPS)[number];

export const deploymentUsageQuery = z.strictObject({
  group_by: groupNames(DEPLOYMENT_GROUPS).default("account").meta({
    description: "`day`, `month` or `account`, or several with commas between them",
    example: "month,account",
  }),
  ...usageFilter,
});
export type DeploymentUsageQuery = Omit<z.infer<typeof deploymentUsageQuery>, "format">;

export const deploymentUsage = z
  .object({
    group_by: z.array(z.enum(DEPLOYMENT_GROUPS)),
    ...report,
    groups: z
      .array(
        z.object({
          ...times,
          account_id: z.string().optional(),
          account: z.string().nullable().optional().meta({
            description: "Username of the user or organization",
          }),
          ...usageSums,
        }),
      )
      .meta({ description: "By time first, then the dearest first" }),
  })
  .meta({ id: "DeploymentUsage" });
export type DeploymentUsage = z.infer<typeof deploymentUsage>;
