/** What an account has in D1, as lines of its export. Nothing secret: no hashes, no values of variables. */

import type { Key } from "../../../domain/cursor.ts";
import type { ExportLine } from "../../../protocol/export.ts";
import { listTokens } from "../../../storage/accounts/tokens.ts";
import { listOwnUploads } from "../../../storage/files/uploads.ts";
import type { Keyset } from "../../../storage/keyset.ts";
import { findModel, listOwnModels } from "../../../storage/models/models.ts";
import { listVariables } from "../../../storage/models/variables.ts";
import { findVersion, listVersions } from "../../../storage/models/versions.ts";
import { listEndpoints } from "../../../storage/webhooks/endpoints.ts";
import { presentUpload } from "../../files/upload-view.ts";
import type { Services } from "../../services.ts";
import { findAccount } from "../account-object.ts";
import type { Caller } from "../caller.ts";
import { getOwnUser } from "../users.ts";

const PAGE = 50;

/** The rows of all pages, one page in memory at a time. */
export async function* rowsOf<Row>(
  find: (keyset: Keyset) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<Row> {
  let from: Keyset["from"];
  for (;;) {
    const rows = await find({ from, back: false, limit: PAGE });
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    from = { key: keyOf(last), inclusive: false };
  }
}

const byId = ({ id }: { id: string }): Key => [id];

export async function* accountLines(
  services: Services,
  caller: Caller,
  origin: string,
): AsyncGenerator<ExportLine> {
  const { db, present } = services;
  const { user_id } = caller;
  const user = await getOwnUser(services, caller);
  yield { type: "export", created_at: new Date().toISOString(), user };
  for await (const row of rowsOf((keyset) => listTokens(db, user_id, keyset), byId))
    yield { type: "token", token: present.token(row) };
  for await (const { id } of rowsOf((keyset) => listOwnModels(db, user_id, null, keyset), byId))
    yield* modelLines(services, id);
  for await (const row of rowsOf((keyset) => listEndpoints(db, user_id, keyset), byId))
    yield { type: "webhook_endpoint", webhook_endpoint: present.webhookEndpoint(row) };
  const uploads = rowsOf(
    (keyset) => listOwnUploads(db, user_id, keyset),
    ({ expires_at, id }) => [expires_at, id],
  );
  for await (const row of uploads)
    yield { type: "upload", upload: await presentUpload(services, caller, row, origin) };
  yield* usageLines(services, user_id);
}

async function* modelLines({ db, present }: Services, id: string): AsyncGenerator<ExportLine> {
  const row = await findModel(db, id);
  // It was deleted meanwhile.
  if (!row) return;
  const variable_names: string[] = [];
  const variables = rowsOf(
    (keyset) => listVariables(db, id, keyset),
    ({ name }) => [name],
  );
  for await (const { name } of variables) variable_names.push(name);
  yield { type: "model", model: present.model(row), variable_names };
  const versions = rowsOf(
    (keyset) => listVersions(db, id, keyset),
    ({ number }) => [number],
  );
  for await (const { number } of versions) {
    const version = await findVersion(db, id, number);
    const model = `${row.owner.username}/${row.name}`;
    if (version) yield { type: "version", model, version: present.version(version) };
  }
}

async function* usageLines(services: Services, userId: string): AsyncGenerator<ExportLine> {
  const account = await findAccount(services, userId);
  if (!account) return;
  const rows = rowsOf(
    (keyset) => account.usagePage(keyset),
    ({ day, model_id, token_id }) => [day, model_id, token_id],
  );
  for await (const { model_id: _, ...usage } of rows) yield { type: "usage", usage };
}
