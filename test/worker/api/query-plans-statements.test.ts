/** Query plans of the statements of D1: `query-plans.snapshot` has those that were last reviewed. */

import { expect, test } from "vitest";
import type { AlertRow } from "../../../src/domain/alerts/life.ts";
import type { Key } from "../../../src/domain/cursor.ts";
import {
  listSomeModels,
  takeClosedAccounts,
} from "../../../src/storage/accounts/account-removal.ts";
import {
  deleteUsageBefore,
  deleteUsageOf,
  sumUsageBy,
} from "../../../src/storage/accounts/account-usage.ts";
import * as logins from "../../../src/storage/accounts/device-logins.ts";
import { listRecoveries } from "../../../src/storage/accounts/invitations.ts";
import * as people from "../../../src/storage/accounts/people.ts";
import { findSessionPrincipal } from "../../../src/storage/accounts/sign-in.ts";
import * as tokens from "../../../src/storage/accounts/tokens.ts";
import { isModelSeen } from "../../../src/storage/accounts/visible-models.ts";
import * as alerts from "../../../src/storage/alerts/alerts.ts";
import { listIncidents } from "../../../src/storage/alerts/incidents.ts";
import { runBatch } from "../../../src/storage/database.ts";
import {
  findKeyed,
  findProbe,
  listTold,
  recordFailed,
  recordStarted,
  reserveStart,
} from "../../../src/storage/deployments/claims.ts";
import * as deployments from "../../../src/storage/deployments/deployments.ts";
import { findGrant } from "../../../src/storage/deployments/grants.ts";
import { selectDeployed } from "../../../src/storage/deployments/targets.ts";
import * as uploads from "../../../src/storage/files/uploads.ts";
import type { Keyset } from "../../../src/storage/keyset.ts";
import * as collaborators from "../../../src/storage/models/collaborators.ts";
import {
  deleteCounts,
  listReportedSince,
  syncListings,
} from "../../../src/storage/models/counts.ts";
import { listDetailedModels } from "../../../src/storage/models/models.ts";
import { listVariableNames } from "../../../src/storage/models/variables.ts";
import {
  findPricesAt,
  listVersionPrices,
  savingPrices,
} from "../../../src/storage/models/version-prices.ts";
import { listInputSchemas, listVersionsOfOwner } from "../../../src/storage/models/versions.ts";
import * as endpoints from "../../../src/storage/webhooks/endpoints.ts";
import { anEntry } from "../support/audit.ts";
import { ALLOWANCE, db, newRows, plansOf } from "../support/query-plans.ts";

const { user_id, other, modelId } = await newRows();

const DAYS = { from: "2026-11-01", to: "2026-11-30" };
const FIRST: Keyset = { from: undefined, back: false, limit: 20 };
const beyond = (...key: Key): Keyset => ({ ...FIRST, from: { key, inclusive: false } });

const endpoint: endpoints.WebhookEndpointRow = {
  ...{ id: "new", user_id, url: "", description: "", events: [], secrets: [], enabled: true },
  ...{ failing_since: 0, last_error: "", notice: null, created_at: 0, updated_at: 0 },
};
const upload: uploads.UploadRow = {
  ...{ id: "new", user_id, prediction_id: null, token_id: null, key: "", multipart_id: "" },
  ...{ size: 1, mime_type: "", name: null, part_size: 1, created_at: 0, completed_at: null },
  ...{ removed_at: null, is_utf8: false, details: null, expires_at: 1, maker: "" },
};
const release: deployments.NewRelease = {
  ...{ deployment_id: "d1", number: 9, model_id: "m1", version_number: 1 },
  ...{ hardware_identifier: "cpu", min_instances: 1, max_instances: 1, idle_seconds: null },
  ...{ max_concurrency: null, priority: null, probe: null, created_at: 0, created_by: null },
  fallbacks: [],
  room: "beside",
};
const token = { id: "new", user_id, name: "", hash: "new", prefix: "", scopes: [], created_at: 0 };
const alert: AlertRow = {
  ...{ id: "a1", rule: "runner_lost", level: "bad", subject: "r1", name: "", text: "", since: 1 },
  ...{ ended_at: null, notified_at: null, end_notified_at: null, claimed_at: null, error: null },
  ...{ silenced_until: null, silenced_by: null },
};
const changes = { begun: [alert], ended: [alert], dropped: [alert] };
const priced = { model_id: modelId, version_number: 2, set_by: "owner", starts_at: 1 } as const;
const due = { users: [user_id, other], each: 5, now: 100 };

/** The statements that a call of each of these runs. */
const CALLS: Record<string, () => Promise<unknown>> = {
  "count and insert a webhook endpoint": () => endpoints.insertEndpoint(db, endpoint, 4, anEntry()),
  "list enabled webhook endpoints": async () => endpoints.selectEnabled(db, user_id),
  "find a webhook endpoint": async () => endpoints.findEndpoint(db, "w1"),
  "find the caller's webhook endpoint": async () => endpoints.findOwnEndpoint(db, user_id, "w1"),
  "change a webhook endpoint": async () =>
    endpoints.updateEndpoint(db, user_id, "w1", { enabled: false }, 0, anEntry()),
  "save a webhook endpoint's health": () =>
    endpoints.saveHealth(db, "w1", endpoint, { at: 0, updated_at: 0, failing_since: null }),
  "clear a webhook endpoint's failures": () =>
    endpoints.clearFailures(db, "w1", { at: 0, updated_at: 0 }),
  "add a secret to a webhook endpoint": async () =>
    endpoints.addSecret(db, user_id, "w1", { id: "s1", secret: "", created_at: 0 }, 3, anEntry()),
  "remove a secret of a webhook endpoint": async () =>
    endpoints.removeSecret(db, user_id, "w1", "s1", 0, anEntry()),
  "delete a webhook endpoint": () => endpoints.deleteEndpoint(db, user_id, "w1", anEntry()),

  "take closed accounts": async () => takeClosedAccounts(db, 1, 5),
  "list models of a closed account": async () => listSomeModels(db, user_id, 10),
  "list active accounts": () => listReportedSince(db, 1, FIRST),
  "list active accounts, next page": () => listReportedSince(db, 1, beyond(1, "u", "m")),
  "sum the usage of all accounts": () => sumUsageBy(db, DAYS, ["month", "account"], 10),
  "delete an account's usage": async () => deleteUsageOf(db, user_id, ["2026-11-01"]),
  "delete usage before a day": async () => deleteUsageBefore(db, "2026-11-01"),
  "delete an account's counts": async () => deleteCounts(db, user_id, 10),

  "count and insert a token": async () =>
    tokens.insertToken(db, token, 1_000, ALLOWANCE, anEntry()),
  "find an open login from a terminal": async () => logins.findOpenLogin(db, "BCDFGHJK", 1),
  "answer a login from a terminal": () =>
    logins.answerLogin(db, "BCDFGHJK", { user_id, approved: true }, 1),
  "take a login from a terminal": () => logins.pollLogin(db, "hash", 2, 1),
  "find what a token may do": () => tokens.findTokenById(db, "t1"),
  "find what a session may do": () => findSessionPrincipal(db, "s1", other),
  "find whether an account sees a model": () => isModelSeen(db, "m1", other),
  "mark a token as used": () => tokens.markTokenUsed(db, "t1", 2, 1),
  "find a token that somebody manages": async () =>
    tokens.findManagedToken(db, "t1", user_id, "u2"),
  "change the limits of a token": async () =>
    tokens.setTokenLimits(db, "t1", { max_running: 1 }, ALLOWANCE, anEntry()),
  "find models by their names": async () => tokens.findModelsByName(db, user_id, [["a", "b"]]),
  "find the models of a token": async () => tokens.findModelNames(db, "t1"),

  "list recent alerts": () => alerts.listRecent(db, 1e12),
  "begin, end and drop alerts": () => alerts.saveChanges(db, changes, () => "new", 1e12),
  "list alerts for operators": () => alerts.listShown(db, 1e12, { ended: 100 }),
  "list incidents for everybody": () => listIncidents(db, 1e12),
  "find an alert": async () => alerts.findAlert(db, "a1"),
  "silence an alert": () => alerts.setSilence(db, "a1", alert, anEntry()),
  "claim alerts": () => alerts.claimRows(db, changes.ended, 2),
  "set that alerts were told": async () => alerts.setNotified(db, ["a1"], "notified_at", 2),
  "set why alerts were not told": async () => alerts.setError(db, ["a1"], "refused"),
  "list disabled webhook endpoints": () => alerts.listDisabledSince(db, 1),
  "list expiring tokens": () => alerts.listExpiring(db, 1, 2),

  "list operators": async () => people.listOperators(db, beyond(0, "5")),
  "list suspended users": async () => people.listSuspendedUsers(db, beyond(5, "5")),
  "list suspended users since a time": async () => people.listSuspended(db, 0, 10),
  "find the last use of users": async () => people.findActivity(db, [user_id]),
  "list a user's former names": async () => people.listFormerUsernames(db, user_id, "ada"),
  "list a user's recoveries": async () => listRecoveries(db, user_id, 10),

  "export models": async () => listDetailedModels(db, user_id, FIRST),
  "export models, next page": async () => listDetailedModels(db, user_id, beyond("m1")),
  "schemas of the versions of runs": async () =>
    listInputSchemas(db, [{ model_id: "m1", version_number: 1 }]),
  "export versions": async () => listVersionsOfOwner(db, user_id, FIRST),
  "export versions, next page": async () => listVersionsOfOwner(db, user_id, beyond("m1", 2)),
  "export names of variables": async () => listVariableNames(db, ["m1", "m2"]),
  "export uploads": async () => uploads.listOwnUploads(db, user_id, FIRST),
  "export uploads, next page": async () => uploads.listOwnUploads(db, user_id, beyond(1, "u1")),

  "count and insert an upload": () =>
    uploads.insertUpload(db, upload, { ...ALLOWANCE, max_pending: 1_000, max_file_bytes: 1_000 }),
  "find an upload": async () => uploads.findUpload(db, "u1"),
  "find the caller's uploads": async () => uploads.findOwnUploads(db, user_id, ["u1", "u2"]),
  "find uploads that versions of a model name": async () =>
    uploads.findUploadsOf(db, "m1", ["u1", "u2"]),
  "move uploads": () =>
    runBatch(
      db,
      uploads.moveUploads(db, { ids: ["u1"], from: user_id, to: other, max_bytes: 1e9 }),
    ),
  "list the parts of an upload": async () => uploads.listParts(db, "u1"),
  "complete an upload": () =>
    uploads.completeUpload(db, "u1", { completed_at: 1, expires_at: 2, is_utf8: true }),
  "keep uploads": async () => uploads.keepUploads(db, ["u1", "u2"], 5),
  "delete uploads": async () => uploads.deleteUploads(db, ["u1", "u2"]),
  "list accounts with expired uploads": () => uploads.listAccountsWithExpired(db, 100, 50),
  "claim expired uploads": () => uploads.claimExpired(db, { ...due, again: 200 }),
  "list the files of an account": async () =>
    uploads.listCompletedUploads(db, user_id, { tokenId: undefined, maker: undefined }, FIRST),
  "list the files that a token has sent": async () =>
    uploads.listCompletedUploads(db, user_id, { tokenId: "t1", maker: "m1" }, FIRST),
  "keep uploads that versions name": async () => uploads.keepNamed(db, { ...due, until: 200 }),
  "keep the uploads of a version": async () =>
    uploads.keepUploadsOf(db, { modelId: "m1", number: 1 }, 5),
  "keep the uploads of a model": async () => uploads.keepUploadsOf(db, { modelId: "m1" }, 5),
  "find the version of uploads": async () => uploads.findVersionOfUploads(db, ["u1"]),

  "set the prices of a version": () =>
    db.batch([...savingPrices(db, { ...priced, prices: null }, 100, anEntry())]),
  "find the prices of a version at a time": async () => findPricesAt(db, priced),
  "list the prices of a version": async () =>
    listVersionPrices(db, modelId, 2, undefined, beyond("owner", 1)),
  "list the prices that operators have set": async () =>
    listVersionPrices(db, modelId, 2, "operator", beyond("operator", 1)),

  "share a model": async () =>
    collaborators.saveCollaborator(
      db,
      { model_id: "m1", account_id: "u1", level: "run", created_at: 0 },
      100,
      anEntry(),
    ),
  "find a share": async () => collaborators.findCollaborator(db, "m1", "u1"),
  "end a share": () => collaborators.deleteCollaborator(db, "m1", "u1", anEntry()),

  "list the deployments of an account": () =>
    deployments.findCurrentReleases(db, user_id, ["d1", "d2"]),
  "make a release": () =>
    deployments
      .insertRelease(db, user_id, release, true, { allowance: ALLOWANCE, entry: anEntry() })
      // The account may claim none.
      .catch(() => {}),
  "list what pools are told of deployments": () => listTold(db, 1, {}),
  "list what pools are told of an account's deployments": () =>
    listTold(db, 1, { owner_id: user_id }),
  "find what container keys are made of": () =>
    findKeyed(db, [
      { model_id: "m1", version_number: 1 },
      { model_id: "m2", version_number: 1 },
    ]),
  "find the probe of a release": () => findProbe(db, "d1", 1),
  "start a container of a deployment": () =>
    reserveStart(db, { deployment_id: "d1", number: 1, next: null }, 1),
  "start a container of the next release of a deployment": () =>
    reserveStart(db, { deployment_id: "d1", number: 1, next: 1 }, 1),
  "record that a release has started": () => recordStarted(db, "d1", 1, 1),
  "record that a release has failed": () => recordFailed(db, "d1", 1, "", 1),
  "find what an account may claim": () => findGrant(db, user_id, release),
  "find the deployments that run a version": async () => deployments.findDeployedBy(db, "m1", 1),
  "find a deployment to run": () =>
    db.batch([...selectDeployed(db, { owner: "ada", name: "chat" }, user_id)]),

  "write changed counts to the listings": () => runBatch(db, syncListings(db)),
};

test("each statement has the query plan that was last reviewed", async () => {
  const plans: Record<string, string[]> = {};
  for (const [name, call] of Object.entries(CALLS))
    plans[name] = (await plansOf(call)).map((steps) => steps.join("; "));
  await expect(`${JSON.stringify(plans, null, 1)}\n`).toMatchFileSnapshot("query-plans.snapshot");
});
