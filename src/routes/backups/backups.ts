/** Backups under /v1/operator. */
import { createRoute, z } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import { requireOperator } from "../../middleware/authentication.ts";
import {
  backupList,
  backupUnderWay,
  oneBackup,
  onePart,
  restoreState,
} from "../../protocol/backup.ts";
import { nothing } from "../../protocol/common.ts";
import {
  listBackups,
  readStoredPart,
  receivePart,
  startBackup,
} from "../../services/backups/backups.ts";
import { restoreBackup } from "../../services/backups/restore.ts";
import { conflictResponse, errorResponses, jsonResponse, problemResponse } from "../responses.ts";
import { router } from "../router.ts";

const operators = { tags: ["Operator"], middleware: requireOperator };

const binary = {
  "application/octet-stream": { schema: z.string().meta({ format: "binary" }) },
};

const list = createRoute({
  ...operators,
  method: "get",
  path: "/operator/backups",
  operationId: "listBackups",
  summary: "List backups",
  responses: { 200: jsonResponse("The backups", backupList), ...errorResponses },
});

const start = createRoute({
  ...operators,
  method: "post",
  path: "/operator/backups",
  operationId: "startBackup",
  summary: "Start a backup",
  description:
    "The backup runs in the background and takes a few minutes. If one is already in progress, returns that one. Returns 409 if the secret BACKUP_KEY is not set.",
  responses: {
    200: jsonResponse("The backup", backupUnderWay),
    ...errorResponses,
    ...conflictResponse,
  },
});

const get = createRoute({
  ...operators,
  method: "get",
  path: "/operator/backups/{backup_id}/parts/{part_number}",
  operationId: "getBackupPart",
  summary: "Download a part of a backup",
  description:
    "Parts are encrypted; part 0 is the manifest. `npm run backup` downloads all of them.",
  request: { params: onePart },
  responses: {
    200: { description: "The part, encrypted", content: binary },
    ...errorResponses,
    ...conflictResponse,
  },
});

const put = createRoute({
  ...operators,
  method: "put",
  path: "/operator/backups/{backup_id}/parts/{part_number}",
  operationId: "putBackupPart",
  summary: "Upload a part of a backup",
  description:
    "Uploads a part of a backup from another deployment, exactly as it was downloaded. Upload part 0 last. Returns 409 if the part was modified, or encrypted with a different BACKUP_KEY.",
  request: { params: onePart, body: { required: true, content: binary } },
  responses: {
    200: jsonResponse("The part was received", nothing),
    ...errorResponses,
    400: problemResponse("The body or the `Content-Length` header is missing"),
    ...conflictResponse,
  },
});

const restore = createRoute({
  ...operators,
  method: "post",
  path: "/operator/backups/{backup_id}/restore",
  operationId: "restoreBackup",
  summary: "Restore a backup",
  description:
    "Restores into an empty deployment that has the backup's BACKUP_KEY. Each call restores some parts: repeat the call, after errors too, until `done` is true.",
  request: { params: oneBackup },
  responses: {
    200: jsonResponse("Progress of the restore", restoreState),
    ...errorResponses,
    ...conflictResponse,
  },
});

export const backupRoutes = router()
  .openapi(list, async (c) => c.json(await listBackups(c.var.services), 200))
  .openapi(start, async (c) => c.json(await startBackup(c.var.services), 200))
  .openapi(get, async (c) => {
    const { backup_id, part_number } = c.req.valid("param");
    return bytesResponse(await readStoredPart(c.var.services, backup_id, part_number));
  })
  .openapi(put, async (c) => {
    const { backup_id, part_number } = c.req.valid("param");
    const length = c.req.header("content-length");
    const sent = length === undefined ? undefined : Number(length);
    await receivePart(c.var.services, backup_id, part_number, { body: c.req.raw.body, sent });
    return c.json({}, 200);
  })
  .openapi(restore, async (c) =>
    c.json(await restoreBackup(c.var.services, c.req.valid("param").backup_id), 200),
  );

function bytesResponse(bytes: Uint8Array<ArrayBuffer>) {
  const headers = { "content-type": "application/octet-stream", "cache-control": "no-store" };
  const response: Response = new Response(bytes, { headers });
  return response as Response & TypedResponse<string, 200, "json">;
}
