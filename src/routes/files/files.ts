/** /v1/files: reading files, and addresses to hand on. */
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
/** Of the type that is stored. */
const bytes = { "*/*": { schema: z.string().meta({ format: "binary" }) } };

const shownHeaders = {
  "content-disposition": {
    description: "`inline` for what browsers show and never run, else `attachment`; with its name",
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
    "What an upload has become, or what a model has made. The addresses in outputs and uploads are signed: whoever has one can read the file until it expires. Without a signature it needs its owner's token. One range of bytes may be asked for (`Range`), and `HEAD` answers without them. Its type is the stored one; what is no image, sound, film or plain text is a download.",
  middleware: allowSignedUrl,
  request: { params: oneFile, query: signedQuery.partial() },
  responses: {
    200: { description: "The file", headers: shownHeaders, content: bytes },
    206: {
      description: "The range that was asked for",
      headers: {
        ...shownHeaders,
        "content-range": {
          description: "Which bytes these are, and of how many",
          schema: { type: "string" as const },
          example: "bytes 0-1023/20000000",
        },
      },
      content: bytes,
    },
    304: { description: "It is the one that you have" },
    ...errorResponses,
    403: problemResponse("The address has expired, or is not as it was given"),
    416: problemResponse("The range begins behind the end of the file"),
  },
});

const share = createRoute({
  method: "post",
  path: "/files/{source_id}/{file_name}/addresses",
  operationId: "createFileAddress",
  tags,
  summary: "Make a new address of a file",
  description:
    "For somebody who has no token. It ends with `expires_in`, or with the file. Needs the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneFile, body: jsonBody(createBody) },
  responses: { 200: jsonResponse("The address", fileAddress), ...errorResponses },
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
