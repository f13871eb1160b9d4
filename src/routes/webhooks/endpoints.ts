/** /v1/webhook-endpoints: receivers of the events of all predictions of an account. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  requireAllScopesToWrite,
  requireScope,
  requireScopesToTest,
} from "../../middleware/authentication.ts";
import { conditionalGet } from "../../middleware/conditional.ts";
import { nothing, pageOf, pageQuery, uuid } from "../../protocol/common.ts";
import {
  createWebhookEndpoint as createBody,
  createdEndpointSecret,
  createdWebhookEndpoint,
  updateWebhookEndpoint as updateBody,
  webhookEndpoint,
  webhookTest,
} from "../../protocol/webhook-endpoint.ts";
import {
  createEndpoint,
  createSecret,
  deleteEndpoint,
  deleteSecret,
  listEndpoints,
  readEndpoint,
  updateEndpoint,
} from "../../services/webhooks/endpoints.ts";
import { testEndpoint } from "../../services/webhooks/test-delivery.ts";
import {
  conflictResponse,
  errorResponses,
  jsonBody,
  jsonResponse,
  problemResponse,
} from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Webhooks"];

/** An endpoint hands on what `read` shows: whoever may not see that may not have it sent to them. */
const changing = requireAllScopesToWrite("write", "read");

const oneEndpoint = z.object({
  endpoint_id: uuid.meta({
    description: "Id of the endpoint",
    example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  }),
});
const oneSecret = oneEndpoint.extend({
  secret_id: uuid.meta({
    description: "Id of the secret, not the secret itself",
    example: "01980c3e-8d1f-7a02-8c3b-5e0f9a7b6c4d",
  }),
});

const create = createRoute({
  method: "post",
  path: "/webhook-endpoints",
  operationId: "createWebhookEndpoint",
  tags,
  summary: "Create a webhook endpoint",
  description:
    "From then on each prediction that you create posts its events there, beside what its own `webhook` asks for; this, and each later change, takes up to 10 s to be known everywhere. A name that does not exist is refused. The `secret` in the answer signs them, and is not shown again. An account may have four endpoints, also with one address. Needs the scopes `write` and `read`.",
  middleware: changing,
  request: { body: jsonBody(createBody) },
  responses: {
    200: jsonResponse("The endpoint, with its secret", createdWebhookEndpoint),
    ...errorResponses,
    409: problemResponse("You have four already"),
  },
});

const list = createRoute({
  method: "get",
  path: "/webhook-endpoints",
  operationId: "listWebhookEndpoints",
  tags,
  summary: "List your webhook endpoints",
  description:
    "Newest first, as they are now: predictions and deliveries take up to 10 s to know of a change. Needs the scope `read`.",
  middleware: requireScope("read"),
  request: { query: pageQuery() },
  responses: { 200: jsonResponse("Endpoints", pageOf(webhookEndpoint)), ...errorResponses },
});

const get = createRoute({
  method: "get",
  path: "/webhook-endpoints/{endpoint_id}",
  operationId: "getWebhookEndpoint",
  tags,
  summary: "Get a webhook endpoint",
  description:
    "Whether deliveries arrive: `failing_since` and `last_error` while they do not, and a `notice` when the service has switched it off: after days in which none has arrived, or at an answer with status 410. A change takes up to 10 s to be known everywhere. Needs the scope `read`.",
  middleware: [requireScope("read"), conditionalGet],
  request: { params: oneEndpoint },
  responses: { 200: jsonResponse("The endpoint", webhookEndpoint), ...errorResponses },
});

const update = createRoute({
  method: "patch",
  path: "/webhook-endpoints/{endpoint_id}",
  operationId: "updateWebhookEndpoint",
  tags,
  summary: "Change a webhook endpoint",
  description:
    'Only the fields sent change, within 10 s. While it is off, nothing is posted to it: deliveries that wait are tried again when their time comes, and predictions created meanwhile never tell it. `"enabled": true` also takes back what the service has held against it. Needs the scopes `write` and `read`.',
  middleware: changing,
  request: { params: oneEndpoint, body: jsonBody(updateBody) },
  responses: { 200: jsonResponse("The endpoint", webhookEndpoint), ...errorResponses },
});

const remove = createRoute({
  method: "delete",
  path: "/webhook-endpoints/{endpoint_id}",
  operationId: "deleteWebhookEndpoint",
  tags,
  summary: "Delete a webhook endpoint",
  description:
    "Deliveries that still wait for it are given up. To stop it for a while, change it to be off. Needs the scopes `write` and `read`.",
  middleware: changing,
  request: { params: oneEndpoint },
  responses: { 200: jsonResponse("It is gone", nothing), ...errorResponses },
});

const addSecret = createRoute({
  method: "post",
  path: "/webhook-endpoints/{endpoint_id}/secrets",
  operationId: "createWebhookSecret",
  tags,
  summary: "Make another secret",
  description:
    "To change the secret of a receiver that goes on working: make another one here, give it to the receiver, then delete the old one. Until then each delivery is signed with both. An endpoint may have three. Needs the scopes `write` and `read`.",
  middleware: changing,
  request: { params: oneEndpoint },
  responses: {
    200: jsonResponse("The secret, which is not shown again", createdEndpointSecret),
    ...errorResponses,
    409: problemResponse("It has three already"),
  },
});

const removeSecret = createRoute({
  method: "delete",
  path: "/webhook-endpoints/{endpoint_id}/secrets/{secret_id}",
  operationId: "deleteWebhookSecret",
  tags,
  summary: "Delete a secret",
  description:
    "Within 10 s nothing is signed with it any more. The only one cannot be deleted. Needs the scopes `write` and `read`.",
  middleware: changing,
  request: { params: oneSecret },
  responses: { 200: jsonResponse("It is gone", nothing), ...errorResponses, ...conflictResponse },
});

const test = createRoute({
  method: "post",
  path: "/webhook-endpoints/{endpoint_id}/test",
  operationId: "testWebhookEndpoint",
  tags,
  summary: "Test a webhook endpoint",
  description:
    "Posts an event `test` now, once, signed as all others, with a prediction that is made up; also to an endpoint that is off. The answer says what became of it. Counts as creating a prediction. Needs the scopes `write` and `read`.",
  middleware: requireScopesToTest,
  request: { params: oneEndpoint },
  responses: { 200: jsonResponse("What became of it", webhookTest), ...errorResponses },
});

export const webhookEndpointRoutes = router()
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const { row, secret } = await createEndpoint(services, caller, c.req.valid("json"));
    return c.json({ ...services.present.webhookEndpoint(row), secret }, 200);
  })
  .openapi(list, async (c) => {
    const request = pageRequest(c, c.req.valid("query"));
    return c.json(await listEndpoints(c.var.services, c.var.caller, request), 200);
  })
  .openapi(get, async (c) => {
    const { services, caller } = c.var;
    const row = await readEndpoint(services, caller, c.req.valid("param").endpoint_id);
    return c.json(services.present.webhookEndpoint(row), 200);
  })
  .openapi(update, async (c) => {
    const { services, caller } = c.var;
    const { endpoint_id: id } = c.req.valid("param");
    const row = await updateEndpoint(services, caller, id, c.req.valid("json"));
    return c.json(services.present.webhookEndpoint(row), 200);
  })
  .openapi(remove, async (c) => {
    await deleteEndpoint(c.var.services, c.var.caller, c.req.valid("param").endpoint_id);
    return c.json({}, 200);
  })
  .openapi(addSecret, async (c) => {
    const { services, caller } = c.var;
    const made = await createSecret(services, caller, c.req.valid("param").endpoint_id);
    return c.json({ ...services.present.webhookSecret(made), secret: made.secret }, 200);
  })
  .openapi(removeSecret, async (c) => {
    const { endpoint_id: id, secret_id: secretId } = c.req.valid("param");
    await deleteSecret(c.var.services, c.var.caller, id, secretId);
    return c.json({}, 200);
  })
  .openapi(test, async (c) => {
    const { services, caller } = c.var;
    const { endpoint_id: id } = c.req.valid("param");
    return c.json(await testEndpoint(services, caller, id, new URL(c.req.url).origin), 200);
  });
