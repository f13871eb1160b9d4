/** /v1/operator: what a deployment needs before its first prediction, and its fleet. */
import { createRoute, z } from "@hono/zod-openapi";
import { operatorOnly } from "../middleware/authentication.ts";
import { slug, uuid } from "../protocol/common.ts";
import {
  createHardware,
  createRunnerToken as createRunnerTokenBody,
  createToken as createTokenBody,
  createUser as createUserBody,
  newToken,
  runnerState,
  user,
} from "../protocol/operator.ts";
import { addHardware, createUser, findUser } from "../services/catalogue.ts";
import { drainRunner, showRunners } from "../services/runners.ts";
import { createRunnerToken, createToken } from "../services/tokens.ts";
import { conflictAnswer, errorAnswers, jsonAnswer, jsonBody, routes } from "./context.ts";

const middleware = operatorOnly;
const oneRunner = z.object({ runner_id: uuid });

const users = createRoute({
  method: "post",
  path: "/operator/users",
  middleware,
  request: { body: jsonBody(createUserBody) },
  responses: { 200: jsonAnswer("The user", user), ...errorAnswers, ...conflictAnswer },
});

const tokens = createRoute({
  method: "post",
  path: "/operator/users/{username}/tokens",
  middleware,
  request: { params: z.object({ username: slug }), body: jsonBody(createTokenBody) },
  responses: { 200: jsonAnswer("The token: it is never shown again", newToken), ...errorAnswers },
});

const runnerTokens = createRoute({
  method: "post",
  path: "/operator/runner_tokens",
  middleware,
  request: { body: jsonBody(createRunnerTokenBody) },
  responses: { 200: jsonAnswer("The token: it is never shown again", newToken), ...errorAnswers },
});

const hardware = createRoute({
  method: "post",
  path: "/operator/hardware",
  middleware,
  request: { body: jsonBody(createHardware) },
  responses: {
    200: jsonAnswer("The hardware", createHardware),
    ...errorAnswers,
    ...conflictAnswer,
  },
});

const runners = createRoute({
  method: "get",
  path: "/operator/runners",
  middleware,
  responses: {
    200: jsonAnswer("All runners", z.object({ items: z.array(runnerState) })),
    ...errorAnswers,
  },
});

const drain = (verb: "drain" | "resume") =>
  createRoute({
    method: "post",
    path: `/operator/runners/{runner_id}/${verb}`,
    middleware,
    request: { params: oneRunner },
    responses: { 200: jsonAnswer("The runner", runnerState), ...errorAnswers },
  });

export const operatorRoutes = routes();

operatorRoutes.openapi(users, async (c) => {
  const { username, name } = c.req.valid("json");
  const row = await createUser(c.var.services, username, name);
  return c.json({ id: row.id, username, created_at: new Date(row.created_at).toISOString() }, 200);
});

operatorRoutes.openapi(tokens, async (c) => {
  const { id } = await findUser(c.var.services, c.req.valid("param").username);
  const { name, scopes, expires_at } = c.req.valid("json");
  const request = { name, scopes, expires_at: expires_at ? Date.parse(expires_at) : null };
  return c.json(await createToken(c.var.services, id, request), 200);
});

operatorRoutes.openapi(runnerTokens, async (c) =>
  c.json(await createRunnerToken(c.var.services, c.req.valid("json")), 200),
);

operatorRoutes.openapi(hardware, async (c) => {
  const request = c.req.valid("json");
  await addHardware(c.var.services, request);
  return c.json(request, 200);
});

operatorRoutes.openapi(runners, async (c) =>
  c.json({ items: await showRunners(c.var.services) }, 200),
);

for (const verb of ["drain", "resume"] as const) {
  operatorRoutes.openapi(drain(verb), async (c) =>
    c.json(
      await drainRunner(c.var.services, c.req.valid("param").runner_id, verb === "drain"),
      200,
    ),
  );
}
