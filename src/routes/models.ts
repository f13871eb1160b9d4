/** /v1/models: creating one, its versions, reading it. */
import { createRoute, z } from "@hono/zod-openapi";
import { anybody, authenticated } from "../middleware/authentication.ts";
import { slug } from "../protocol/common.ts";
import {
  createModel as createBody,
  createVersion as createVersionBody,
  model,
  version,
} from "../protocol/model.ts";
import {
  createModel,
  createVersion,
  getModel,
  type ModelWithVersion,
} from "../services/catalogue.ts";
import type { VersionRow } from "../storage/versions.ts";
import { conflictAnswer, errorAnswers, jsonAnswer, jsonBody, routes } from "./context.ts";

const oneModel = z.object({ model_owner: slug, model_name: slug });

const create = createRoute({
  method: "post",
  path: "/models",
  middleware: authenticated("write"),
  request: { body: jsonBody(createBody) },
  responses: { 200: jsonAnswer("The model", model), ...errorAnswers, ...conflictAnswer },
});

const get = createRoute({
  method: "get",
  path: "/models/{model_owner}/{model_name}",
  middleware: anybody,
  request: { params: oneModel },
  responses: { 200: jsonAnswer("The model", model), ...errorAnswers },
});

const publish = createRoute({
  method: "post",
  path: "/models/{model_owner}/{model_name}/versions",
  middleware: authenticated("write"),
  request: { params: oneModel, body: jsonBody(createVersionBody) },
  responses: { 200: jsonAnswer("The version", version), ...errorAnswers, ...conflictAnswer },
});

export const modelRoutes = routes();

modelRoutes.openapi(create, async (c) =>
  c.json(presentModel(await createModel(c.var.services, c.var.caller, c.req.valid("json"))), 200),
);

modelRoutes.openapi(get, async (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  return c.json(
    presentModel(await getModel(c.var.services, c.var.caller, model_owner, model_name)),
    200,
  );
});

modelRoutes.openapi(publish, async (c) => {
  const { model_owner, model_name } = c.req.valid("param");
  const row = await createVersion(
    c.var.services,
    c.var.caller,
    model_owner,
    model_name,
    c.req.valid("json"),
  );
  return c.json(presentVersion(row), 200);
});

function presentModel({
  model: row,
  owner,
  hardware,
  version: latest,
}: ModelWithVersion): z.infer<typeof model> {
  return {
    id: row.id,
    name: row.name,
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    visibility: row.visibility,
    description: row.description,
    overview: row.overview,
    owner: { id: owner.id, username: owner.username, avatar_url: owner.avatar_url },
    source_url: row.source_url,
    license_url: row.license_url,
    paper_url: row.paper_url,
    hardware: hardware && { identifier: hardware.identifier, name: hardware.name },
    latest_version: latest ? presentVersion(latest) : null,
  };
}

function presentVersion(row: VersionRow): z.infer<typeof version> {
  return {
    number: row.number,
    release_notes: row.release_notes,
    created_at: new Date(row.created_at).toISOString(),
    container_image_digest: row.container_image_digest,
    schemas: row.schemas,
    compatibilities: row.compatibilities,
    size: row.size,
    configuration: row.configuration,
  };
}
