/** The operator's API, authenticated with OPERATOR_TOKEN: setting up a deployment and its fleet. */
import { z } from "zod";
import { orNull, priority, slug, timestamp, uuid } from "./common.ts";
import { prediction } from "./prediction.ts";
import { owner } from "./user.ts";

export const scope = z.enum(["read", "write", "predict"]).meta({
  id: "Scope",
  description:
    "`read`: read your own and public resources. `write`: change your profile, models and versions. `predict`: run models.",
});
export type Scope = z.infer<typeof scope>;

export const createUser = z
  .strictObject({ username: slug, name: z.string().max(100).default("") })
  .meta({ id: "CreateUser", example: { username: "ada", name: "Ada Lovelace" } });

const tokenName = z.string().min(1).max(100);

const modelName = z.string().regex(/^[a-z0-9._-]{1,63}\/[a-z0-9._-]{1,63}$/, {
  error: ({ input }) =>
    `'${String(input).slice(0, 130)}' is not a valid <model_owner>/<model_name>`,
});

/** Strict: ignoring a misspelt field could create a token for everything that never expires. */
export const createToken = z
  .strictObject({
    name: tokenName,
    scopes: z.array(scope).min(1).max(3).default(["read", "write", "predict"]),
    models: z.array(modelName).min(1).max(50).nullish().meta({
      description:
        "Limits the token to these models, given as `owner/name`; renaming a model does not affect this. The token can run them, read and cancel their predictions, and read its own uploads, but nothing else of the account. Absent or null: all models",
    }),
    priority: priority.nullish().meta({
      description:
        "Highest queue priority this token can request, and its default. Requests for a higher priority are rejected. Absent or null: any",
    }),
    expires_at: timestamp
      .nullish()
      .meta({ description: "Absent or null: the token never expires" }),
  })
  .meta({ id: "CreateToken", example: { name: "laptop", scopes: ["read", "predict"] } });
export type CreateToken = z.infer<typeof createToken>;

const hardwareList = z
  .array(z.string().min(1).max(63))
  .min(1)
  .max(50)
  .meta({ description: "Hardware that its runners can serve" });

export const createRunnerToken = z
  .strictObject({ name: tokenName, hardware: hardwareList })
  .meta({ id: "CreateRunnerToken", example: { name: "rack 1", hardware: ["cpu"] } });

export const newToken = z
  .object({ id: uuid, token: z.string() })
  .meta({ id: "NewToken", description: "A new token. It is shown only in this response" });

const tokenRow = {
  id: uuid,
  name: z.string(),
  prefix: z.string().meta({ description: "The first characters, to tell tokens apart" }),
  created_at: timestamp,
  last_used_at: timestamp
    .nullable()
    .meta({ description: "Accurate to a few minutes; null: never" }),
};

export const token = z
  .object({
    ...tokenRow,
    scopes: z.array(scope),
    models: z.array(z.string()).nullable().meta({
      description:
        "Current names of the models that the token is limited to, without deleted ones. Null: all models",
    }),
    priority: priority
      .nullable()
      .meta({ description: "Highest queue priority this token can request. Null: any" }),
    expires_at: timestamp.nullable(),
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
        "Id of the runner that has it or had it last; null if none had it, or its record is deleted",
    }),
    attempts: z.int().nullable().meta({
      description: "How many runners began it; null once its record is deleted",
    }),
  })
  .meta({ id: "OperatorPrediction", description: "A prediction as operators see it" });
export type OperatorPrediction = z.infer<typeof operatorPrediction>;

/** One step of a search through the accounts. */
export const predictionSearch = z
  .object({
    found: orNull(operatorPrediction).meta({
      description: "Null if none of the accounts that were asked has it",
    }),
    asked: z.int().meta({ description: "How many accounts were asked" }),
    unanswered: z.array(z.string()).meta({
      description: "Usernames of accounts that did not answer in time, and may have it",
      example: [],
    }),
    next_cursor: z.string().nullable().meta({
      description: "Cursor to ask the next accounts; null when it is found, or all were asked",
      example: null,
    }),
    next_url: z.url().nullable().meta({
      description: "URL that asks the next accounts",
      example: null,
    }),
  })
  .meta({ id: "PredictionSearch", description: "A step of a search through the accounts" });
export type PredictionSearch = z.infer<typeof predictionSearch>;

export const suspensionQuery = z.object({
  models: z.enum(["keep", "hide"]).default("keep").meta({
    description:
      "`keep`: others can still find and run the account's models. `hide`: all of them become private, and stay so when the account is restored",
  }),
});
export type SuspendedModels = z.infer<typeof suspensionQuery>["models"];
