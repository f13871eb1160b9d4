/** /v1/models/{owner}/{name}/examples: runs that a model's owner shows. */
import { createRoute } from "@hono/zod-openapi";
import {
  allowAnonymous,
  requireAllScopesToWrite,
  requireScopeToWrite,
} from "../../middleware/authentication.ts";
import { nothing, pageOf } from "../../protocol/common.ts";
import {
  example,
  oneExample,
  pinExample as pinBody,
  updateExample as updateBody,
} from "../../protocol/example.ts";
import { oneModel } from "../../protocol/model.ts";
import {
  listExamples,
  pinExample,
  unpinExample,
  updateExample,
} from "../../services/models/examples.ts";
import { onePage } from "../../services/pagination.ts";
import {
  conflictResponse,
  errorResponses,
  exactBody,
  jsonBody,
  jsonResponse,
} from "../responses.ts";
import { router } from "../router.ts";

const tags = ["Model examples"];
const PATH = "/models/{model_owner}/{model_name}/examples";

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listExamples",
  tags,
  summary: "List a model's examples",
  description:
    "Lists runs pinned by the model's owner, up to 12, in display order on one page. File URLs are valid for an hour; list the examples again for new ones.",
  middleware: allowAnonymous,
  request: { params: oneModel },
  responses: { 200: jsonResponse("In display order", pageOf(example)), ...errorResponses },
});

const pin = createRoute({
  method: "post",
  path: PATH,
  operationId: "pinExample",
  tags,
  summary: "Pin a prediction as an example",
  description:
    "Copies the input, output and files of a successful prediction of yours, and shows them to everyone who can see the model. The copy is kept when the prediction's data is removed. Secret fields, logs and webhooks are not copied. Requires the scopes `write` and `read`.",
  middleware: requireAllScopesToWrite("pinExample", "write", "read"),
  request: { params: oneModel, body: jsonBody(pinBody) },
  responses: { 200: jsonResponse("The example", example), ...errorResponses, ...conflictResponse },
});

const update = createRoute({
  method: "patch",
  path: `${PATH}/{example_id}`,
  operationId: "updateExample",
  tags,
  summary: "Move an example or set the cover image",
  description:
    "Updates only the fields you send. Returns 409 if you set the cover image and the output has no image. Requires the scopes `write` and `read`.",
  middleware: requireAllScopesToWrite("updateExample", "write", "read"),
  request: { params: oneExample, body: jsonBody(updateBody) },
  responses: { 200: jsonResponse("The example", example), ...errorResponses, ...conflictResponse },
});

const remove = createRoute({
  method: "delete",
  path: `${PATH}/{example_id}`,
  operationId: "unpinExample",
  tags,
  summary: "Remove an example",
  description: "Deletes the copy and its files. The prediction is kept.",
  middleware: requireScopeToWrite("unpinExample", "write"),
  request: { params: oneExample },
  responses: { 200: jsonResponse("Removed", nothing), ...errorResponses },
});

export const exampleRoutes = router()
  .openapi(list, async (c) => {
    const { model_owner, model_name } = c.req.valid("param");
    const { origin } = new URL(c.req.url);
    const place: [string, string] = [model_owner, model_name];
    const examples = await listExamples(c.var.services, c.var.caller, place, origin);
    return exactBody(onePage(examples));
  })
  .openapi(pin, async (c) => {
    const { model_owner, model_name } = c.req.valid("param");
    const { prediction_id } = c.req.valid("json");
    const { origin } = new URL(c.req.url);
    const place: [string, string] = [model_owner, model_name];
    return exactBody(await pinExample(c.var.services, c.var.caller, place, prediction_id, origin));
  })
  .openapi(update, async (c) => {
    const { model_owner, model_name, example_id } = c.req.valid("param");
    const { origin } = new URL(c.req.url);
    const place: [string, string] = [model_owner, model_name];
    const at = { place, id: example_id, origin };
    const { services, caller } = c.var;
    return exactBody(await updateExample(services, caller, at, c.req.valid("json")));
  })
  .openapi(remove, async (c) => {
    const { model_owner, model_name, example_id } = c.req.valid("param");
    await unpinExample(c.var.services, c.var.caller, [model_owner, model_name], example_id);
    return c.json({}, 200);
  });
