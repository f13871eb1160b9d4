/** The export of an account: what it is, and what it has made. */

import type { Key } from "../../domain/cursor.ts";
import { notFound } from "../../errors/errors.ts";
import type { UsageRow } from "../../objects/stubs/account.ts";
import type { ExportLine } from "../../protocol/export.ts";
import { findLogin } from "../../storage/accounts/sign-in.ts";
import { listTokens } from "../../storage/accounts/tokens.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { listOwnUploads } from "../../storage/files/uploads.ts";
import type { Keyset } from "../../storage/keyset.ts";
import { listCollaboratorsOf, listReceived } from "../../storage/models/collaborators.ts";
import { listDetailedModels } from "../../storage/models/models.ts";
import { listVariableNames } from "../../storage/models/variables.ts";
import { listVersionsOfOwner } from "../../storage/models/versions.ts";
import { listEndpoints } from "../../storage/webhooks/endpoints.ts";
import type { Caller } from "../access/access.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import { userTarget } from "../audit/people.ts";
import { recordRead } from "../audit/record.ts";
import { readTrail } from "../audit/trail.ts";
import { deploymentsOf } from "../deployments/deployments.ts";
import { exportStream } from "../export-stream.ts";
import { presentUploadedFile } from "../files/upload-view.ts";
import { pagesOf } from "../pagination.ts";
import type { Services } from "../services.ts";
import { type Piece, predictionLines } from "./export-predictions.ts";
import { sumsOf, usagePages } from "./usage.ts";
import { getOwnUser } from "./users.ts";

const PAGE = 50;

/** Rows per page of models or versions, which may have 200 KB each. */
const HEAVY_PAGE = 20;

interface ExportRequest {
  /** The export's URL without a query, which the line that says where to continue is made from. */
  url: string;
  /** Continues an export with the predictions made before this one. */
  before: string | undefined;
}

/** The export of an account: one stream, made as fast as it is read. */
export async function exportAccount(
  services: Services,
  caller: Caller,
  request: ExportRequest,
): Promise<EventStream> {
  const user = await findUser(services.db, caller.user_id);
  if (!user) throw notFound("The user of this token");
  await recordRead(services, {
    action: "user.exported",
    account_id: user.id,
    targets: [userTarget(user)],
  });
  return exportStream(linesOf(services, caller, request));
}

async function* linesOf(
  services: Services,
  caller: Caller,
  request: ExportRequest,
): AsyncGenerator<Piece> {
  if (request.before === undefined)
    yield* accountLines(services, caller, new URL(request.url).origin);
  yield* predictionLines(services, caller.user_id, request.url, request.before);
}

const byId = ({ id }: { id: string }): Key => [id];

/**
 * The lines of an account's export except those of its predictions. They have nothing secret: no hashes, no
 * values of variables.
 */
async function* accountLines(
  services: Services,
  caller: Caller,
  origin: string,
): AsyncGenerator<ExportLine> {
  const { db, present } = services;
  const { user_id } = caller;
  const [user, login] = await Promise.all([getOwnUser(services, caller), findLogin(db, user_id)]);
  const created_at = new Date().toISOString();
  yield { type: "export", format: 1, created_at, user, email: login?.email ?? null };
  for await (const rows of pagesOf(PAGE, (keyset) => listTokens(db, user_id, keyset), byId))
    for (const row of rows) yield { type: "token", token: present.token(row) };
  yield* modelLines(services, user_id);
  yield* versionLines(services, user_id);
  for await (const rows of pagesOf(PAGE, (keyset) => listReceived(db, user_id, keyset), byId))
    for (const { owner, name, level, created_at } of rows)
      yield {
        type: "shared_model",
        model: `${owner}/${name}`,
        level,
        created_at: new Date(created_at).toISOString(),
      };
  for await (const deployment of deploymentsOf(services, user_id))
    yield { type: "deployment", deployment };
  for await (const rows of pagesOf(PAGE, (keyset) => listEndpoints(db, user_id, keyset), byId))
    for (const row of rows)
      yield { type: "webhook_endpoint", webhook_endpoint: present.webhookEndpoint(row) };
  yield* uploadLines(services, user_id, origin);
  yield* usageLines(services, user_id);
  for await (const audit_event of readTrail(services, { account_id: user_id }, {}))
    yield { type: "audit_event", audit_event };
}

async function* modelLines({ db, present }: Services, userId: string): AsyncGenerator<ExportLine> {
  const find = (keyset: Keyset) => listDetailedModels(db, userId, keyset);
  for await (const rows of pagesOf(HEAVY_PAGE, find, byId)) {
    const ids = rows.map(({ id }) => id);
    const variables = Map.groupBy(await listVariableNames(db, ids), ({ model_id }) => model_id);
    const shared = Map.groupBy(await listCollaboratorsOf(db, ids), ({ model_id }) => model_id);
    for (const row of rows) {
      const { latest_version: _, ...model } = present.model(row);
      const variable_names = (variables.get(row.id) ?? []).map(({ name }) => name);
      const collaborators = (shared.get(row.id) ?? []).map(present.collaborator);
      yield { type: "model", model, variable_names, collaborators };
    }
  }
}

/**
 * Versions are listed for all models together: an account may have 1,000 models, and a request makes at most
 * 10,000 queries.
 */
async function* versionLines(
  { db, present }: Services,
  userId: string,
): AsyncGenerator<ExportLine> {
  const versions = pagesOf(
    HEAVY_PAGE,
    (keyset) => listVersionsOfOwner(db, userId, keyset),
    ({ model_id, number }) => [model_id, number],
  );
  for await (const rows of versions)
    for (const row of rows)
      yield { type: "version", model_id: row.model_id, version: present.version(row) };
}

async function* uploadLines(
  services: Services,
  userId: string,
  origin: string,
): AsyncGenerator<ExportLine> {
  const uploads = pagesOf(
    PAGE,
    (keyset) => listOwnUploads(services.db, userId, keyset),
    ({ expires_at, id }) => [expires_at, id],
  );
  for await (const rows of uploads)
    for (const row of rows)
      yield { type: "upload", upload: await presentUploadedFile(services, row, origin) };
}

async function* usageLines(services: Services, user_id: string): AsyncGenerator<ExportLine> {
  for await (const rows of usagePages(services, { user_id }))
    for (const row of rows) yield { type: "usage", usage: exportedUsageOf(row) };
}

const exportedUsageOf = (row: UsageRow) => ({
  day: row.day,
  model_id: row.model_id,
  model: row.model,
  version_number: row.version_number,
  token_id: row.token_id || null,
  token: row.token || null,
  member_id: row.maker || null,
  member: row.member || null,
  hardware: row.hardware,
  deployment: row.deployment || null,
  release: row.release || null,
  ...sumsOf(row),
});
