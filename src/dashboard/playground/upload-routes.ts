/** /v1/uploads for a session. Parts are sent to their signed URLs. */
import {
  completeUpload as completeBody,
  createUpload as createBody,
} from "../../protocol/upload.ts";
import { parseBody } from "../../routes/router.ts";
import { completeUpload } from "../../services/files/complete-upload.ts";
import { presentUpload } from "../../services/files/upload-view.ts";
import { createUpload, deleteUpload, getUpload } from "../../services/files/uploads.ts";
import type { UploadRow } from "../../storage/files/uploads.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";

export const uploadPages = pages()
  .use("/uploads/*", requireUser)
  .post("/uploads", requireUser, async (c) => {
    const { caller } = viewerOf(c);
    return show(c, await createUpload(c.var.services, caller, await parseBody(c, createBody)));
  })
  .get("/uploads/:id", async (c) =>
    show(c, await getUpload(c.var.services, viewerOf(c).caller, c.req.param("id"))),
  )
  .post("/uploads/:id/complete", async (c) => {
    const { etags } = await parseBody(c, completeBody);
    const { caller } = viewerOf(c);
    return show(c, await completeUpload(c.var.services, caller, c.req.param("id"), etags));
  })
  .post("/uploads/:id/cancel", async (c) => {
    await deleteUpload(c.var.services, viewerOf(c).caller, c.req.param("id"));
    return c.json({});
  });

const show = async (c: PageContext, row: UploadRow) =>
  c.json(await presentUpload(c.var.services, viewerOf(c).caller, row, c.var.origin));
