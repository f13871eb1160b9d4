/** /v1/uploads: uploading files in parts. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  allowSignedUrl,
  requireScope,
  requireScopeToWrite,
} from "../../middleware/authentication.ts";
import { integerText, nothing, uuid } from "../../protocol/common.ts";
import { signedQuery } from "../../protocol/file.ts";
import {
  completeUpload as completeBody,
  createUpload as createBody,
  MAX_PARTS,
  type Upload,
  upload,
} from "../../protocol/upload.ts";
import { completeUpload } from "../../services/files/complete-upload.ts";
import { presentUpload } from "../../services/files/upload-view.ts";
import {
  createUpload,
  deleteUpload,
  getUpload,
  receivePart,
} from "../../services/files/uploads.ts";
import {
  conflictResponse,
  errorResponses,
  jsonBody,
  jsonResponse,
  problemResponse,
} from "../responses.ts";
import { router } from "../router.ts";

const tags = ["Uploads"];
const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const oneUpload = z.object({
  upload_id: uuid.meta({ example: ID }),
});

const COMPLETED: Upload = {
  id: ID,
  url: `https://auspex.example.com/v1/uploads/${ID}`,
  status: "completed",
  size: 20_000_000,
  mime_type: "image/png",
  name: "photo.png",
  part_size: 16_777_216,
  urls: [],
  parts: [],
  file_url: `https://auspex.example.com/v1/files/${ID}/photo.png?expires=1795310130&signature=Jv3c0yWm1xPq8sT5uZ7aB9dE2fG4hK6nL-oR_iQwXkY`,
  created_at: "2026-11-20T10:15:30.000Z",
  expires_at: "2026-12-20T10:15:42.000Z",
};

const create = createRoute({
  method: "post",
  path: "/uploads",
  operationId: "createUpload",
  tags,
  summary: "Create an upload",
  description:
    "Next, split the file into parts of `part_size` bytes, PUT each part to its URL in `urls`, and complete the upload with the `ETag` of each response. You can send parts in parallel and retry a part. Requires the scope `predict`.",
  middleware: requireScopeToWrite("createUpload", "predict"),
  request: { body: jsonBody(createBody) },
  responses: {
    200: jsonResponse("The upload", upload),
    ...errorResponses,
    429: problemResponse("Too many requests, or too many pending uploads"),
  },
});

const get = createRoute({
  method: "get",
  path: "/uploads/{upload_id}",
  operationId: "getUpload",
  tags,
  summary: "Get an upload",
  description:
    "For a pending upload, returns the received parts and, with the scope `predict`, the URLs to send parts to. For a completed one, returns the URL of the file. Requires the scope `read` or `predict`.",
  middleware: requireScope("read", "predict"),
  request: { params: oneUpload },
  responses: { 200: jsonResponse("The upload", upload), ...errorResponses },
});

const put = createRoute({
  method: "put",
  path: "/uploads/{upload_id}/parts/{part_number}",
  operationId: "putUploadPart",
  tags,
  summary: "Upload a part",
  description:
    "Send the raw bytes of the part, with a `Content-Length`, to its URL from the upload's `urls`. The URLs are signed and need no token. Each is valid for one part of an exact size, until the token that created the upload ends. If you send a part again, it replaces the earlier one.",
  middleware: allowSignedUrl,
  request: {
    params: oneUpload.extend({ part_number: integerText(1, MAX_PARTS) }),
    query: signedQuery.extend({
      size: integerText(1, 999_999_999_999_999).meta({
        description: "Size of the part in bytes",
        example: 16_777_216,
      }),
      holder: z.string().max(64).optional().meta({
        description: "ID of the token or session the URL was created for",
        example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d60",
      }),
    }),
    body: {
      required: true,
      content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } },
    },
  },
  responses: {
    200: {
      description: "The part was received",
      headers: {
        etag: {
          description: "Needed to complete the upload",
          schema: { type: "string" as const },
          example: '"9b2cf535f27731c974343645a3985328"',
        },
      },
      content: { "application/json": { schema: nothing } },
    },
    ...errorResponses,
    400: problemResponse("The body does not have the size in the URL"),
    403: problemResponse(
      "The URL has expired or was modified, or the token it was created for is no longer valid",
    ),
    409: problemResponse("The upload was completed or deleted"),
  },
});

const complete = createRoute({
  method: "post",
  path: "/uploads/{upload_id}/complete",
  operationId: "completeUpload",
  tags,
  summary: "Complete an upload",
  description:
    "Assembles the file from its parts. Send the `ETag` of each part, in order. You can repeat the request. Requires the scope `predict`.",
  middleware: requireScopeToWrite("completeUpload", "predict"),
  request: { params: oneUpload, body: jsonBody(completeBody) },
  responses: {
    200: {
      description: "The completed upload",
      content: { "application/json": { schema: upload, example: COMPLETED } },
    },
    ...errorResponses,
    409: problemResponse("Parts are missing, or the upload was deleted"),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/uploads/{upload_id}",
  operationId: "deleteUpload",
  tags,
  summary: "Delete an upload",
  description:
    "Cancels a pending upload, or deletes the file of a completed one. Predictions that have not read the file yet will fail. To delete a file that a version uses as weights, delete the version first. Requires the scope `predict`.",
  middleware: requireScopeToWrite("deleteUpload", "predict"),
  request: { params: oneUpload },
  responses: { 200: jsonResponse("Deleted", nothing), ...errorResponses, ...conflictResponse },
});

export const uploadRoutes = router()
  .openapi(create, async (c) => {
    const { services, caller } = c.var;
    const row = await createUpload(services, caller, c.req.valid("json"));
    return c.json(await presentUpload(services, caller, row, new URL(c.req.url).origin), 200);
  })
  .openapi(get, async (c) => {
    const { services, caller } = c.var;
    const row = await getUpload(services, caller, c.req.valid("param").upload_id);
    return c.json(await presentUpload(services, caller, row, new URL(c.req.url).origin), 200);
  })
  .openapi(put, async (c) => {
    const { upload_id: id, part_number: number } = c.req.valid("param");
    const { size: length, holder = null, ...query } = c.req.valid("query");
    const contentLength = c.req.header("content-length");
    const sent = contentLength === undefined ? undefined : Number(contentLength);
    const body = c.req.raw.body;
    const part = { id, number, length, holder };
    const etag = await receivePart(c.var.services, part, query, { body, sent });
    return c.json({}, 200, { etag });
  })
  .openapi(complete, async (c) => {
    const { services, caller } = c.var;
    const { etags } = c.req.valid("json");
    const row = await completeUpload(services, caller, c.req.valid("param").upload_id, etags);
    return c.json(await presentUpload(services, caller, row, new URL(c.req.url).origin), 200);
  })
  .openapi(remove, async (c) => {
    await deleteUpload(c.var.services, c.var.caller, c.req.valid("param").upload_id);
    return c.json({}, 200);
  });
