/** /v1/files: reading and sharing files. */
import { createRoute, z } from "@hono/zod-openapi";
import { allowSignedUrl, requireScope } from "../../middleware/authentication.ts";
import {
  createAddress as createBody,
  fileAddress,
  oneFile,
  signedQuery,
} from "../../protocol/file.ts";
import { createFileUrl, readFile } from "../../services/files/files.ts";
import { errorResponses, jsonBody, jsonResponse, problemResponse } from "../responses.ts";
import { router } from "../router.ts";

const tags = ["Files"];
/** The content of a file, which has the stored media type. */
const bytes = { "*/*": { schema: z.string().meta({ format: "binary" }) } };

const shownHeaders = {
  "content-disposition": {
    description:
      "`inline` for types that browsers can display safely, otherwise `attachment`. Includes the file name",
    schema: { type: "string" as const },
    example: `inline; filename="out.png"; filename*=UTF-8''out.png`,
  },
};

const read = createRoute({
  method: "get",
  path: "/files/{source_id}/{file_name}",
  operationId: "readFile",
  tags,
  summary: "Read a file",
  description:
    "Returns a completed upload or an output file of a model. URLs in outputs and uploads are signed: anyone with the URL can read the file until it expires. Without a signature, the owner's token is required. Supports one byte range (`Range`) and `HEAD`. Images, audio, video and plain text open in the browser; everything else is downloaded.",
  middleware: allowSignedUrl,
  request: { params: oneFile, query: signedQuery.partial() },
  responses: {
    200: { description: "The file", headers: shownHeaders, content: bytes },
    206: {
      description: "The requested range",
      headers: {
        ...shownHeaders,
        "content-range": {
          description: "Byte range and file size",
          schema: { type: "string" as const },
          example: "bytes 0-1023/20000000",
        },
      },
      content: bytes,
    },
    304: { description: "Not modified" },
    ...errorResponses,
    403: problemResponse("The URL has expired or was modified"),
    416: problemResponse("The range starts after the end of the file"),
  },
});

const share = createRoute({
  method: "post",
  path: "/files/{source_id}/{file_name}/addresses",
  operationId: "createFileAddress",
  tags,
  summary: "Create a signed URL for a file",
  description:
    "Creates a URL to share with someone who has no token. It expires after `expires_in` seconds, or when the file is deleted. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneFile, body: jsonBody(createBody) },
  responses: { 200: jsonResponse("The signed URL", fileAddress), ...errorResponses },
});

export const fileRoutes = router()
  .openapi(read, (c) =>
    readFile(c.var.services, c.var.caller, c.req.valid("param"), c.req.valid("query"), c.req.raw),
  )
  .openapi(share, async (c) => {
    const { services, caller } = c.var;
    const { expires_in } = c.req.valid("json");
    const { origin } = new URL(c.req.url);
    const file = c.req.valid("param");
    return c.json(await createFileUrl(services, caller, file, expires_in, origin), 200);
  });
