/** The export of an account. */
import { createRoute, z } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import { requireScope } from "../../middleware/authentication.ts";
import { limitOpenStream } from "../../middleware/concurrent-requests.ts";
import { exportQuery } from "../../protocol/export.ts";
import { requireAccountAccess } from "../../services/accounts/access.ts";
import { exportAccount } from "../../services/accounts/export/export.ts";
import { errorResponses } from "../responses.ts";
import { router } from "../router.ts";

const exportOwn = createRoute({
  method: "get",
  path: "/user/export",
  operationId: "exportOwnUser",
  tags: ["Users"],
  summary: "Export your account",
  description:
    "Everything of your account as newline-delimited JSON, a line for each thing: profile, tokens (without their secrets), models with their versions and the names of their variables, webhook endpoints, uploads, usage, and your predictions, newest first, with input and output while they are kept. Files come as signed URLs that are valid for a day. The last line has the type `end`; without it the export was cut short. A response has up to 1,000 predictions: follow `next_url` of the last line until it is null. Requires a token for the whole account.",
  middleware: requireScope("read"),
  request: { query: exportQuery },
  responses: {
    200: {
      description: "Lines of JSON",
      content: {
        "application/jsonl": {
          schema: z.string(),
          example: '{"type":"end","next_url":null}\n',
        },
      },
    },
    ...errorResponses,
  },
});

export const exportRoutes = router().openapi(exportOwn, async (c) => {
  const { services, caller } = c.var;
  await requireAccountAccess(services, caller, "The account");
  const { origin } = new URL(c.req.url);
  const { before } = c.req.valid("query");
  const stream = await limitOpenStream(c, async () =>
    exportAccount(services, caller, origin, before),
  );
  const response: Response = new Response(stream.body, {
    headers: { "content-type": "application/jsonl", "cache-control": "no-store" },
  });
  return response as Response & TypedResponse<string, 200, "json">;
});
