/** /v1/models/{owner}/{name}/versions: publishing, reading, listing and deleting versions. */
import { createRoute } from "@hono/zod-openapi";
import { allowAnonymous, requireScopeToWrite } from "../../middleware/authentication.ts";
import { conditionalGet, markPublic } from "../../middleware/conditional.ts";
import { nothing, pageOf, pageQuery } from "../../protocol/common.ts";
import {
  createVersion as createBody,
  oneModel,
  oneVersion,
  version,
  versionSummary,
} from "../../protocol/model.ts";
import { readModel } from "../../services/models/models.ts";
import {
  createVersion,
  deleteVersion,
  listVersions,
  readVersion,
} from "../../services/models/versions.ts";
import { conflictResponse, errorResponses, jsonBody, jsonResponse } from "../responses.ts";
import { pageRequest, router } from "../router.ts";

const tags = ["Model versions"];
const PATH = "/models/{model_owner}/{model_name}/versions";

const list = createRoute({
  method: "get",
  path: PATH,
  operationId: "listVersions",
  tags,
  summary: "List a model's versions",
  middleware: [allowAnonymous, conditionalGet],
  request: { params: oneModel, query: pageQuery() },
  responses: { 200: jsonResponse("Newest first", pageOf(versionSummary)), ...errorResponses },
});

const create = createRoute({
  method: "post",
  path: PATH,
  operationId: "createVersion",
  tags,
  summary: "Publish a version",
  description:
    "Publishes a version with the next number. Versions never change. Set `image` or `container_image_digest`, unless another host runs the version (`configuration.remote`). If the image is in this deployment's registry, `schemas`, `compatibilities`, `configuration.interface` and `configuration.max_concurrency` are detected from it unless you send them; the first start fills in what the image does not declare (`status`). For any other image, `schemas` is required. Without `configuration`, the version inherits it from the latest version. If you send one, it replaces the whole configuration: `isolation` and `egress` return to their defaults unless you set them.",
  middleware: requireScopeToWrite("createVersion", "write"),
  request: { params: oneModel, body: jsonBody(createBody) },
  responses: { 200: jsonResponse("The version", version), ...errorResponses, ...conflictResponse },
});

const get = createRoute({
  method: "get",
  path: `${PATH}/{version_number}`,
  operationId: "getVersion",
  tags,
  summary: "Get a version",
  middleware: [allowAnonymous, conditionalGet],
  request: { params: oneVersion },
  responses: { 200: jsonResponse("The version", version), ...errorResponses },
});

const remove = createRoute({
  method: "delete",
  path: `${PATH}/{version_number}`,
  operationId: "deleteVersion",
  tags,
  summary: "Delete a version",
  description:
    "Deletes a version. Running predictions finish, and the number is not reused. You cannot delete the default version while later versions exist.",
  middleware: requireScopeToWrite("deleteVersion", "write"),
  request: { params: oneVersion },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses, ...conflictResponse },
});

export const versionRoutes = router()
  .openapi(list, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const request = pageRequest(c, c.req.valid("query"));
    const model = await readModel(services, caller, model_owner, model_name);
    const page = await listVersions(services, model, request);
    if (model.visibility !== "private") markPublic(c);
    const items = page.items.map(services.present.versionSummary);
    return c.json({ ...page, items }, 200);
  })
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name } = c.req.valid("param");
    const body = c.req.valid("json");
    const row = await createVersion(services, caller, model_owner, model_name, body);
    return c.json(services.present.version(row), 200);
  })
  .openapi(get, async (c) => {
    const { services, caller } = c.var;
    const { model_owner, model_name, version_number } = c.req.valid("param");
    const { version, shared } = await readVersion(
      services,
      caller,
      model_owner,
      model_name,
      version_number,
    );
    if (shared) markPublic(c);
    return c.json(services.present.version(version), 200);
  })
  .openapi(remove, async (c) => {
    const { model_owner, model_name, version_number } = c.req.valid("param");
    await deleteVersion(c.var.services, c.var.caller, model_owner, model_name, version_number);
    return c.json({}, 200);
  });
