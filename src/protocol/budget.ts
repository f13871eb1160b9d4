/** Budgets: limits of what an account, a member of an organization or an access token may spend. */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";
import { amount, decimalAmount } from "./money.ts";

export const BUDGET_WINDOWS = ["day", "week", "month", "total"] as const;
const window = z.enum(BUDGET_WINDOWS).meta({
  description:
    "The time that the limit is for. Windows begin at midnight UTC, on Monday and on the first of the month; `total` never ends",
});
export type BudgetWindow = z.infer<typeof window>;

const kind = z.enum(["hard", "alert"]).meta({
  description:
    "`hard` refuses predictions that could exceed the limit, and stops those that would. `alert` only sends webhook events",
});
export type BudgetKind = z.infer<typeof kind>;

/** The levels of those who set budgets, the lowest first. A budget is changed at its level and at every higher one. */
export const BUDGET_LEVELS = ["member", "admin", "operator"] as const;
const level = z.enum(BUDGET_LEVELS).meta({
  description:
    "Who has set the budget and may change it: `member` its subject or an admin, `admin` an admin of the organization or the owner of the account, `operator` an operator",
});
export type BudgetLevel = z.infer<typeof level>;

const alertAt = z.number().gt(0).max(1).meta({
  description: "The share of the limit at which the event `budget.alert` is sent",
  example: 0.8,
});

export const budget = z
  .object({
    id: uuid,
    scope: z.enum(["account", "member", "token"]),
    member: z.string().nullable().meta({ description: "Username, for the scope `member`" }),
    token_id: uuid.nullable().meta({ description: "For the scope `token`" }),
    token: z.string().nullable().meta({ description: "The name of the token" }),
    limit: decimalAmount,
    currency: z.string(),
    window,
    kind,
    alert_at: alertAt,
    set_by: level,
    spent: decimalAmount.meta({ description: "Cost of the runs of this window that have ended" }),
    reserved: decimalAmount.meta({ description: "Reserved for runs that have not ended" }),
    left: decimalAmount,
    resets_at: timestamp.nullable().meta({ description: "Null for the window `total`" }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Budget" });
export type Budget = z.infer<typeof budget>;

/** A budget as its events have it: names may change, IDs do not. */
export const budgetFacts = budget
  .pick({
    id: true,
    scope: true,
    token_id: true,
    limit: true,
    currency: true,
    window: true,
    kind: true,
  })
  .extend({
    member_id: uuid.nullable().meta({ description: "For the scope `member`" }),
    ...{ spent: decimalAmount, reserved: decimalAmount, left: decimalAmount },
    resets_at: timestamp.nullable(),
  })
  .meta({ id: "BudgetFacts" });
export type BudgetFacts = z.infer<typeof budgetFacts>;

export const budgets = z.object({ items: z.array(budget) }).meta({ id: "Budgets" });

const limit = amount.meta({
  description:
    "Decimal text or a number, in the deployment's currency, up to 9,000,000. 0 refuses all predictions that can cost something",
});

const NO_WINDOW = "The window of a budget cannot be changed. Delete the budget, and create another";

export const updateBudget = z
  .strictObject(
    { limit, alert_at: alertAt, kind },
    {
      error: ({ code, keys }) =>
        code === "unrecognized_keys" && String(keys) === "window" ? NO_WINDOW : undefined,
    },
  )
  .partial()
  .meta({ id: "UpdateBudget", example: { limit: "50" } });
export type UpdateBudget = z.infer<typeof updateBudget>;

export const createBudget = z
  .strictObject({
    limit,
    window,
    kind: kind.default("hard"),
    alert_at: alertAt.default(0.8),
    member: z
      .string()
      .max(63)
      .optional()
      .meta({ description: "Username of a member of the organization, whose budget it is" }),
    token_id: uuid.optional().meta({ description: "The access token whose budget it is" }),
  })
  .refine(({ member, token_id }) => member === undefined || token_id === undefined, {
    message: "A budget is that of a member or of a token, not both",
    path: ["token_id"],
  })
  .meta({ id: "CreateBudget", example: { limit: "10", window: "day" } });
export type CreateBudget = z.infer<typeof createBudget>;
