/**
 * The rows of a test's account, token, model and hardware class, written in one batch: the calls of the API that
 * make the same take ten times as much processor time. `rows.test.ts` compares both.
 */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { v7 as uuid } from "uuid";
import { newToken, sha256, tokenPrefix } from "../../../src/domain/accounts/token.ts";
import { outputModalityOf } from "../../../src/domain/models/output-modality.ts";
import { versionIdOf } from "../../../src/domain/replicate/versions.ts";
import { upgradedVersionSchemas } from "../../../src/domain/schemas/openapi-schemas.ts";
import { putHardware } from "../../../src/protocol/hardware.ts";
import {
  type Compatibilities,
  type Configuration,
  configuration,
  newCompatibilities,
  newSchemas,
  type Visibility,
} from "../../../src/protocol/model.ts";
import { DEFAULT_SCOPES } from "../../../src/protocol/operator.ts";
import { database, runBatch } from "../../../src/storage/database.ts";
import {
  hardware,
  models,
  pools,
  runnerTokens,
  tokens,
  users,
  versions,
} from "../../../src/storage/schema/index.ts";

const db = database(env.DB);

/** Creates a user with a token. */
export async function insertUser(username: string): Promise<{ user_id: string; token: string }> {
  const user_id = uuid();
  const { token, ...secret } = await newSecret("aus");
  await runBatch(db, [userRow(user_id, username), tokenRow(user_id, secret)]);
  return { user_id, token };
}

/** Creates a token of a user. */
export async function insertToken(username: string): Promise<{ user_id: string; token: string }> {
  const { token, ...secret } = await newSecret("aus");
  const owner = await db
    .select({ id: users.id })
    .from(users)
    .where(eq(users.username, username))
    .get();
  if (!owner) throw new Error(`There is no user ${username}`);
  await tokenRow(owner.id, secret);
  return { user_id: owner.id, token };
}

export async function insertRunnerToken(classes: string[]): Promise<string> {
  const { token, ...secret } = await newSecret("ausr");
  await runnerTokenRow(classes, secret);
  return token;
}

export interface NewRows {
  username: string;
  hardware: string;
  model: string;
  visibility: Visibility;
  /** The first version of the model. Its image is in IMAGE_REGISTRY. */
  version: {
    digest: string;
    input: object;
    compatibilities: Partial<Compatibilities>;
    /** Names no image and no weights. */
    configuration: Configuration;
  };
}

/** Creates a hardware class with a runner token, and a user with a token and a model on that class. */
export async function insertWorld({ username, hardware: machine, model, ...given }: NewRows) {
  const user_id = uuid();
  const { token, ...secret } = await newSecret("aus");
  const { token: runnerToken, ...runnerSecret } = await newSecret("ausr");
  const created_at = Date.now();
  const id = uuid();
  const prediction = { input: given.version.input, output: {} };
  const content = {
    schemas: upgradedVersionSchemas(newSchemas.parse({ prediction })),
    compatibilities: newCompatibilities.parse(given.version.compatibilities),
  };
  const makes = outputModalityOf(content, model);
  const { location_hint, pool: _, ...machineRow } = putHardware.parse({ name: machine });
  await runBatch(db, [
    db.insert(pools).values({ name: machine, location_hint }),
    db.insert(hardware).values({ ...machineRow, identifier: machine, pool: machine, created_at }),
    userRow(user_id, username),
    tokenRow(user_id, secret),
    db.insert(models).values({
      ...{ id, owner_id: user_id, name: model, visibility: given.visibility },
      ...{ description: "", overview: "", hardware_identifier: machine },
      ...{ created_at, updated_at: created_at },
    }),
    db.insert(versions).values({
      ...{ ...content, model_id: id, number: 1, release_notes: "", size: 0 },
      configuration: configuration.parse(given.version.configuration),
      container_image_digest: given.version.digest,
      repository: `${env.IMAGE_REGISTRY}/${username}/${model}`,
      ...{ created_at, hash: versionIdOf(id, 1) },
    }),
    // Triggers list the model by this column.
    ...(makes ? [db.update(models).set({ makes }).where(eq(models.id, id))] : []),
    runnerTokenRow([machine], runnerSecret),
  ]);
  return { user_id, token, runnerToken };
}

type Secret = Omit<Awaited<ReturnType<typeof newSecret>>, "token">;

async function newSecret(kind: "aus" | "ausr") {
  const token = newToken(kind);
  const hash = await sha256(token);
  const prefix = tokenPrefix(token);
  return { token, id: uuid(), name: "test", hash, prefix, created_at: Date.now() };
}

function userRow(id: string, username: string) {
  const now = Date.now();
  const row = { id, username, name: "", avatar_url: "", created_at: now, updated_at: now };
  return db.insert(users).values(row);
}

const tokenRow = (user_id: string, secret: Secret) =>
  db.insert(tokens).values({ ...secret, user_id, scopes: DEFAULT_SCOPES });

const runnerTokenRow = (classes: string[], secret: Secret) =>
  db.insert(runnerTokens).values({ ...secret, hardware: classes });
