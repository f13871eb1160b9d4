/** The estimate of a prediction that is not created. */
import { z } from "zod";
import { orNull } from "./common.ts";
import { decimalAmount } from "./money.ts";
import { prediction } from "./prediction.ts";

const range = (value: z.ZodString, name: string) =>
  z.object({
    expected: value.meta({ description: `The median ${name}` }),
    low: value.nullable().meta({ description: "One run in ten is below; null if not known" }),
    high: value.nullable().meta({ description: "One run in ten is above; null if not known" }),
  });

const seconds = z.string().meta({ description: "Decimal seconds", example: "4.210" });

export const estimate = z
  .object({
    model: prediction.shape.model,
    state: z.enum(["warm", "cold", "busy", "away", "unknown"]).meta({
      description:
        "`warm`: a container is ready. `cold`: one must start first. `busy`: the run is queued. `away`: no runner is available. `unknown`: the hardware's queue did not answer",
      example: "warm",
    }),
    basis: z.enum(["own_runs", "all_runs", "none"]).meta({
      description:
        "`own_runs`: the last runs of this version in your account that succeeded and that you may read, 50 at most. `all_runs`: the mean of recent runs of all accounts, if your own are fewer than 5. `none`: nothing is known yet",
      example: "own_runs",
    }),
    runs: z.int().meta({ description: "The number of your own runs", example: 50 }),
    execution_time: orNull(range(seconds, "time").meta({ id: "EstimatedTime" })).meta({
      description: "Null if not known",
    }),
    setup_time: seconds.nullable().meta({
      description: "How long a container takes to start; null if not known",
    }),
    cost: orNull(
      range(decimalAmount, "cost")
        .extend({ currency: z.string().meta({ description: "ISO 4217 code", example: "USD" }) })
        .meta({ id: "EstimatedCost" }),
    ).meta({
      description:
        "At today's prices, including the start of a container if the state is `cold`. Null if not known, or if nothing has a price",
    }),
    cost_reason: z.string().nullable().meta({
      description: "Why `cost` is null: nothing has a price, or too few runs are known",
      example: null,
    }),
    would_admit: z.boolean().meta({
      description: "Whether the budgets, and the limits of the token, allow such a run now",
    }),
    reason: z.string().nullable().meta({
      description: "Why a create would be refused now",
      example: null,
    }),
  })
  .meta({ id: "Estimate" });
export type Estimate = z.infer<typeof estimate>;
