/** Every operation of the API that is not a read: the action that its success writes, or why none. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { operationsIn } from "../../../src/openapi/document.ts";
import { AUDIT_ACTIONS, type AuditAction } from "../../../src/protocol/audit.ts";
import { run } from "../support/accounts.ts";
import { withoutKey } from "../support/backups.ts";
import { placeFor, usualStatus } from "../support/called-places.ts";
import { documentIn } from "../support/document.ts";
import { callEndpoint, ENDPOINT_ACCESS, type EndpointCall } from "../support/endpoint-access.ts";
import { OPERATOR_ENDPOINTS } from "../support/operator-endpoints.ts";
import { newWorld, operator, type World } from "../support/world.ts";

const PREDICTIONS = "predictions and what they are made of are not recorded";
const UPLOADS = "files are data, as predictions are";
const SIGNED = "it is signed and not stored, and ends within an hour";
const DELIVERY = "an event is sent again, or for a test: nothing changes";

/** An action or a reason, which has spaces, for each operationId. */
const RECORDED: Record<string, AuditAction | `${string} ${string}`> = {
  createPrediction: PREDICTIONS,
  createPredictionOfModel: PREDICTIONS,
  createPredictionOfVersion: PREDICTIONS,
  estimatePrediction: "nothing is created",
  deletePrediction: PREDICTIONS,
  cancelPrediction: PREDICTIONS,
  createClientToken: SIGNED,
  createStreamToken: SIGNED,
  createPredictionOfDeployment: PREDICTIONS,
  putCapacityGrant: "capacity.granted",
  createDeployment: "deployment.created",
  updateDeployment: "deployment.updated",
  deleteDeployment: "deployment.deleted",
  rollBackDeployment: "deployment.updated",
  createModel: "model.created",
  updateModel: "model.updated",
  deleteModel: "model.deleted",
  createVersion: "version.created",
  deleteVersion: "version.deleted",
  setVersionPrices: "version.priced",
  setVersionPricesForAll: "version.priced",
  setVariable: "variable.set",
  deleteVariable: "variable.deleted",
  setCollaborator: "collaborator.added",
  removeCollaborator: "collaborator.removed",
  pinExample: "example.created",
  updateExample: "example.updated",
  unpinExample: "example.deleted",
  createChatCompletion: PREDICTIONS,
  createCompletion: PREDICTIONS,
  createEmbeddings: PREDICTIONS,
  createImage: PREDICTIONS,
  editImage: PREDICTIONS,
  createModeration: PREDICTIONS,
  rerankDocuments: PREDICTIONS,
  countResponseInputTokens: PREDICTIONS,
  compactResponse: PREDICTIONS,
  createResponse: PREDICTIONS,
  deleteResponse: PREDICTIONS,
  cancelResponse: PREDICTIONS,
  createConversation: PREDICTIONS,
  updateConversation: PREDICTIONS,
  deleteConversation: PREDICTIONS,
  createConversationItems: PREDICTIONS,
  deleteConversationItem: PREDICTIONS,
  createSpeech: PREDICTIONS,
  createTranscription: PREDICTIONS,
  createTranslation: PREDICTIONS,
  createMessage: PREDICTIONS,
  countMessageTokens: PREDICTIONS,
  redeliverWebhook: DELIVERY,
  testWebhookEndpoint: DELIVERY,
  createWebhookEndpoint: "webhook_endpoint.created",
  updateWebhookEndpoint: "webhook_endpoint.updated",
  deleteWebhookEndpoint: "webhook_endpoint.deleted",
  createWebhookSecret: "webhook_endpoint.updated",
  deleteWebhookSecret: "webhook_endpoint.updated",
  createUpload: UPLOADS,
  deleteUpload: UPLOADS,
  putUploadPart: UPLOADS,
  completeUpload: UPLOADS,
  createFileAddress: UPLOADS,
  updateOwnUser: "user.updated",
  createOrganization: "organization.created",
  updateOrganization: "organization.updated",
  deleteOrganization: "organization.deleted",
  setMember: "member.updated",
  removeMember: "member.removed",
  createOrganizationInvitation: "invitation.created",
  deleteOrganizationInvitation: "invitation.revoked",
  joinOrganization: "member.added",
  createOrganizationToken: "token.created",
  updateOrganizationToken: "token.updated",
  revokeOrganizationToken: "token.revoked",
  createBudget: "budget.created",
  updateBudget: "budget.updated",
  deleteBudget: "budget.deleted",
  createBudgetForUser: "budget.created",
  updateBudgetOfUser: "budget.updated",
  deleteBudgetOfUser: "budget.deleted",
  createUser: "user.created",
  createOrganizationFor: "organization.created",
  appointOwner: "member.updated",
  releaseUsername: "username.released",
  suspendUser: "user.suspended",
  restoreUser: "user.restored",
  appointOperator: "operator.appointed",
  demoteOperator: "operator.demoted",
  createToken: "token.created",
  updateToken: "token.updated",
  revokeToken: "token.revoked",
  createRunnerToken: "runner_token.created",
  revokeRunnerToken: "runner_token.revoked",
  putCategory: "category.updated",
  deleteCategory: "category.deleted",
  putHardware: "hardware.updated",
  deleteHardware: "hardware.deleted",
  askForRunnerLog: "runner.log_requested",
  removeRunner: "runner.removed",
  drainRunner: "runner.drained",
  silenceAlert: "alert.silenced",
  startBackup: "a backup stays in the deployment until it is read, which is recorded",
  putBackupPart: "a part changes nothing until it is restored, which is recorded",
  restoreBackup: "backup.restored",
};

/** Bodies that change something, where those of the tables of access do not. */
const CHANGES: Record<string, () => object> = {
  updateModel: () => ({ description: "Tells stories" }),
  updateDeployment: () => ({ idle_seconds: 60 }),
  updateWebhookEndpoint: () => ({ description: "Tells others" }),
  updateOwnUser: () => ({ bio: "Tells stories" }),
  updateOrganization: () => ({ bio: "Tells stories" }),
};

/** A restore needs an empty deployment: fleet.test.ts. */
const NOT_HERE = ["putBackupPart", "restoreBackup"];

const operations = operationsIn(await documentIn("A"))
  .filter(({ method }) => method !== "get")
  .map(({ method, path, operation }) => ({
    id: operation.operationId ?? `${method} ${path}`,
    key: `${method.toUpperCase()} /v1${path.replaceAll(/{(\w+)}/g, ":$1")}`,
  }));

/** Returns the usual status of a call by its rightful caller, and how to call it. */
function callOf(id: string, key: string): EndpointCall & { status: number } {
  const access = ENDPOINT_ACCESS[key];
  const status = access ? usualStatus(key, access) : (OPERATOR_ENDPOINTS[key]?.status ?? 200);
  const changes = CHANGES[id];
  return {
    status,
    ...(access ?? OPERATOR_ENDPOINTS[key]),
    ...(changes && { body: changes }),
    headers: { "x-request-id": id },
  };
}

let world: World;
beforeAll(async () => {
  world = await newWorld({ compatibilities: { vendora_responses: true } });
});
afterAll(withoutKey);

test("the table says of every operation that is not a read what is recorded", () => {
  expect(Object.keys(RECORDED).sort()).toEqual(operations.map(({ id }) => id).sort());
});

test.each(
  operations.filter(({ id, key }) => !NOT_HERE.includes(id) && callOf(id, key).status < 300),
)("$id writes the action of the table, or none", async ({ id, key }) => {
  const place = await placeFor(key, world);
  const { status, ...call } = callOf(id, key);
  const client = key.includes("/operator/") ? operator : world.client;
  expect((await callEndpoint(client, key, place, call)).status).toBe(status);
  const entries = await run(
    `SELECT action FROM audit_entries
      WHERE context ->> 'request_id' = ? AND action <> 'operator_token.used'`,
    id,
  );
  const recorded = RECORDED[id] ?? "";
  expect(entries.map(({ action }) => action)).toEqual(recorded in AUDIT_ACTIONS ? [recorded] : []);
});
