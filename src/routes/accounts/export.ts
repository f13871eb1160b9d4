/** The export of an account. */
import { createRoute } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import { problemLine } from "../../errors/errors.ts";
import { requireScope, tokenEndedWords } from "../../middleware/authentication.ts";
import { limitExport } from "../../middleware/concurrent-requests.ts";
import { type ExportLine, exportLine, exportQuery } from "../../protocol/export.ts";
import { requireAccountAccess } from "../../services/access/access.ts";
import { exportAccount } from "../../services/accounts/export.ts";
import { errorResponses, problemResponse } from "../responses.ts";
import { router } from "../router.ts";

const exportOwn = createRoute({
  method: "get",
  path: "/user/export",
  operationId: "exportOwnUser",
  tags: ["Users"],
  summary: "Export your account",
  description:
    "Returns your account as JSON Lines, one record per line: profile, tokens (without their secrets), models with their versions and the names of their variables, webhook endpoints, uploads, usage, the audit log, and your predictions, newest first, with input and output while they are kept. Files are signed URLs, valid for a day. A complete response ends with a line of the type `end`; without it, the export was interrupted, and a `problem` line may give the reason. To get older predictions, request `next_url` of the last line until it is null. Requires a token for the whole account.",
  middleware: requireScope("read"),
  request: { query: exportQuery },
  responses: {
    200: {
      description: "JSON Lines",
      content: {
        "application/jsonl": {
          schema: exportLine,
          example: { type: "end", predictions: 3, failures: 0, next_url: null },
        },
      },
    },
    ...errorResponses,
    429: problemResponse("Too many requests, or two exports of your account are in progress"),
  },
});

export const exportRoutes = router().openapi(exportOwn, async (c) => {
  const { services, caller } = c.var;
  await requireAccountAccess(services, caller, "The account", "admin");
  const url = new URL(c.req.path, c.req.url).href;
  const { before } = c.req.valid("query");
  const { body } = await limitExport(
    c,
    () => exportAccount(services, caller, { url, before }),
    () => tokenEndedWords(c, problemLine),
  );
  return exportResponse(body, before);
});

/** Returns the export as a download. @param before names its part of a large account */
export function exportResponse(body: ReadableStream<Uint8Array>, before: string | undefined) {
  const part = before === undefined ? "" : `-before-${before}`;
  const response: Response = new Response(body, {
    headers: {
      "content-type": "application/jsonl",
      "content-disposition": `attachment; filename="auspex-export${part}.jsonl"`,
      "cache-control": "no-store",
    },
  });
  return response as Response & TypedResponse<ExportLine, 200, "json">;
}
