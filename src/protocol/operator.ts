/** The operators' API: setting up a deployment and its fleet. */
import { z } from "zod";
import { orNull, priority, slug, timestamp, uuid } from "./common.ts";
import { prediction } from "./prediction.ts";
import { tokenLimits } from "./token-limits.ts";
import { owner } from "./user.ts";

export const scope = z.enum(["read", "write", "predict", "operator", "metrics"]).meta({
  id: "Scope",
  description:
    "`read`: read your own and public resources. `write`: change your profile, models and versions. `predict`: run models. `operator`: call `/v1/operator` while you are an operator. `metrics`: read `/metrics` while you are an operator.",
});
export type Scope = z.infer<typeof scope>;

/** Scopes of operators' tokens, which are for the deployment and not for an account. */
export const OPERATOR_SCOPES = ["operator", "metrics"] as const satisfies Scope[];

export const isForOperators = (scopes: readonly Scope[]): boolean =>
  OPERATOR_SCOPES.some((one) => scopes.includes(one));

/** The scopes of sessions, and of tokens by default. */
export const DEFAULT_SCOPES = ["read", "write", "predict"] satisfies Scope[];

export const createUser = z
  .strictObject({ username: slug, name: z.string().max(100).default("") })
  .meta({ id: "CreateUser", example: { username: "ada", name: "Ada Lovelace" } });

const tokenName = z.string().min(1).max(100);

export const modelName = z.string().regex(/^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}$/, {
  error: ({ input }) => `Invalid model '${String(input).slice(0, 130)}'. Use owner/name`,
});

/** Strict: ignoring a misspelt field could create a token for everything that never expires. */
export const createToken = z
  .strictObject({
    name: tokenName,
    scopes: z.array(scope).min(1).max(scope.options.length).default(DEFAULT_SCOPES),
    models: z.array(modelName).min(1).max(50).nullish().meta({
      description:
        "Limits the token to these models (`owner/name`), even if they are renamed. It can run them, read and cancel their predictions, and read its own uploads, but nothing else in the account. By default, all models",
    }),
    priority: priority.nullish().meta({
      description:
        "Highest queue priority this token can request, and its default. Requests for a higher priority are rejected. By default, any priority",
    }),
    expires_at: timestamp
      .nullish()
      .meta({ description: "When the token expires. By default, never" }),
    limits: orNull(tokenLimits).optional().meta({ description: "By default, none" }),
  })
  .meta({ id: "CreateToken", example: { name: "laptop", scopes: ["read", "predict"] } });
export type CreateToken = z.infer<typeof createToken>;

const hardwareList = z
  .array(z.string().min(1).max(63))
  .min(1)
  .max(50)
  .meta({ description: "Hardware classes that its runners can serve" });

export const createRunnerToken = z
  .strictObject({ name: tokenName, hardware: hardwareList })
  .meta({ id: "CreateRunnerToken", example: { name: "rack 1", hardware: ["cpu"] } });

export const newToken = z
  .object({ id: uuid, token: z.string() })
  .meta({ id: "NewToken", description: "A new token. Shown only in this response" });

const tokenRow = {
  id: uuid,
  name: z.string(),
  prefix: z.string().meta({ description: "First characters of the token, to tell tokens apart" }),
  created_at: timestamp,
  last_used_at: timestamp
    .nullable()
    .meta({ description: "When the token was last used, to within a few minutes; null if never" }),
};

export const token = z
  .object({
    ...tokenRow,
    scopes: z.array(scope),
    models: z.array(z.string()).nullable().meta({
      description:
        "Current names of the models the token is limited to, without deleted ones; null for all models",
    }),
    priority: priority
      .nullable()
      .meta({ description: "Highest queue priority this token can request; null for any" }),
    expires_at: timestamp.nullable(),
    limits: orNull(tokenLimits).meta({ description: "Null for none" }),
  })
  .meta({ id: "Token" });
export type Token = z.infer<typeof token>;

export const runnerToken = z
  .object({ ...tokenRow, hardware: hardwareList })
  .meta({ id: "RunnerToken" });
export type RunnerToken = z.infer<typeof runnerToken>;

/** The part of a prediction that support may see: neither input nor output. */
export const operatorPrediction = prediction
  .extend({
    account: owner,
    runner: uuid.nullable().meta({
      description:
        "ID of its current or last runner; null if it has had none, or if the data has been removed",
    }),
    attempts: z.int().nullable().meta({
      description: "Number of attempts; null once the data has been removed",
    }),
  })
  .meta({ id: "OperatorPrediction", description: "A prediction, as shown to operators" });
export type OperatorPrediction = z.infer<typeof operatorPrediction>;

/** One step of a search through the accounts. */
export const predictionSearch = z
  .object({
    found: orNull(operatorPrediction).meta({
      description: "Null if no searched account has the prediction",
    }),
    asked: z.int().meta({ description: "Number of accounts searched" }),
    unanswered: z.array(z.string()).meta({
      description: "Usernames of accounts that did not respond in time and may have the prediction",
      example: [],
    }),
    next_cursor: z.string().nullable().meta({
      description:
        "Cursor to search the next accounts; null once the prediction is found or all accounts have been searched",
      example: null,
    }),
    next_url: z.url().nullable().meta({
      description: "URL that searches the next accounts",
      example: null,
    }),
  })
  .meta({ id: "PredictionSearch", description: "Result of searching up to 200 accounts" });
export type PredictionSearch = z.infer<typeof predictionSearch>;

export const suspensionQuery = z.object({
  models: z.enum(["keep", "hide"]).default("keep").meta({
    description:
      "`keep`: others can still find and run the account's models. `hide`: the models become private, and stay private when the account is restored",
  }),
});
export type SuspendedModels = z.infer<typeof suspensionQuery>["models"];
