/** /v1/webhook-endpoints: receivers of the events of all an account's predictions. */
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
} from "../../protocol/webhook.ts";
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

/** Deliveries contain what `read` allows to see, so changing an endpoint requires both scopes. */
const changing = requireAllScopesToWrite("changeWebhookEndpoint", "write", "read");

const oneEndpoint = z.object({
  endpoint_id: uuid.meta({
    description: "ID of the endpoint",
    example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  }),
});
const oneSecret = oneEndpoint.extend({
  secret_id: uuid.meta({
    description: "ID of the secret, not its value",
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
    "Creates an endpoint that receives the events of all your new predictions, in addition to their own `webhook`. Changes take effect within 10 s. The host must exist. The `secret` in the response signs deliveries and is shown only once. An account can have four endpoints; several can have the same URL. Requires the scopes `write` and `read`.",
  middleware: changing,
  request: { body: jsonBody(createBody) },
  responses: {
    200: jsonResponse("The endpoint, with its secret", createdWebhookEndpoint),
    ...errorResponses,
    409: problemResponse("The account already has four endpoints"),
  },
});

const list = createRoute({
  method: "get",
  path: "/webhook-endpoints",
  operationId: "listWebhookEndpoints",
  tags,
  summary: "List your webhook endpoints",
  description: "Newest first. Changes take effect within 10 s. Requires the scope `read`.",
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
    "While deliveries fail, `failing_since` and `last_error` are set. `notice` says why the service disabled the endpoint: it returned 410, or all deliveries failed for days. Requires the scope `read`.",
  middleware: [requireScope("read"), conditionalGet],
  request: { params: oneEndpoint },
  responses: { 200: jsonResponse("The endpoint", webhookEndpoint), ...errorResponses },
});

const update = createRoute({
  method: "patch",
  path: "/webhook-endpoints/{endpoint_id}",
  operationId: "updateWebhookEndpoint",
  tags,
  summary: "Update a webhook endpoint",
  description:
    'Updates only the fields you send. Changes take effect within 10 s. A disabled endpoint receives nothing: pending deliveries stay due, and predictions created in the meantime are never sent. `"enabled": true` also clears its failures. Requires the scopes `write` and `read`.',
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
    "Deletes an endpoint and discards its pending deliveries. To pause deliveries, disable it instead. Requires the scopes `write` and `read`.",
  middleware: changing,
  request: { params: oneEndpoint },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses },
});

const addSecret = createRoute({
  method: "post",
  path: "/webhook-endpoints/{endpoint_id}/secrets",
  operationId: "createWebhookSecret",
  tags,
  summary: "Create a secret",
  description:
    "Adds a secret. To rotate without downtime, create a new secret, add it to your receiver, then delete the old one. Until then, both sign each delivery. An endpoint can have three secrets. Requires the scopes `write` and `read`.",
  middleware: changing,
  request: { params: oneEndpoint },
  responses: {
    200: jsonResponse("The secret, which is not shown again", createdEndpointSecret),
    ...errorResponses,
    409: problemResponse("The endpoint already has three secrets"),
  },
});

const removeSecret = createRoute({
  method: "delete",
  path: "/webhook-endpoints/{endpoint_id}/secrets/{secret_id}",
  operationId: "deleteWebhookSecret",
  tags,
  summary: "Delete a secret",
  description:
    "Stops signing deliveries with it within 10 s. You cannot delete the only secret. Requires the scopes `write` and `read`.",
  middleware: changing,
  request: { params: oneSecret },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses, ...conflictResponse },
});

const test = createRoute({
  method: "post",
  path: "/webhook-endpoints/{endpoint_id}/test",
  operationId: "testWebhookEndpoint",
  tags,
  summary: "Test a webhook endpoint",
  description:
    "Sends a signed `test` event with a sample prediction and returns the result. Tests are not retried, and work for disabled endpoints too. Counts toward the rate limit for creating predictions. Requires the scopes `write` and `read`.",
  middleware: requireScopesToTest,
  request: { params: oneEndpoint },
  responses: { 200: jsonResponse("The result", webhookTest), ...errorResponses },
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
