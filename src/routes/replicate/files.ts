/** Files of Replicate's API, below /replicate/v1. */
import { type Context, Hono } from "hono";
import { z } from "zod";
import type { AppEnv } from "../../context.ts";
import { notVisible } from "../../errors/errors.ts";
import { requireScope, requireScopeToWrite } from "../../middleware/authentication.ts";
import { readForm } from "../../middleware/form-body.ts";
import { cursorText, uuid } from "../../protocol/common.ts";
import { deleteUpload } from "../../services/files/uploads.ts";
import {
  createReplicateFile,
  listReplicateFiles,
  readReplicateFile,
  replicateFileUrl,
} from "../../services/replicate/files.ts";
import { parse } from "../router.ts";

const PAGE_SIZE = 25;
const listQuery = z.object({ cursor: cursorText(1_000) });
const originOf = ({ req }: Context) => new URL(req.url).origin;

export const replicateFileRoutes = new Hono<AppEnv>()
  .post("/files", requireScopeToWrite("createUpload", "predict"), async (c) => {
    const { services, caller } = c.var;
    const made = await readForm(c, (fields, sent) =>
      createReplicateFile(services, caller, fields, sent, originOf(c)),
    );
    return c.json(made, 201);
  })
  .get("/files", requireScope("read", "predict"), async (c) => {
    const { cursor } = parse(listQuery, c.req.query(), "query");
    const request = { cursor, size: PAGE_SIZE, url: c.req.url };
    return c.json(await listReplicateFiles(c.var.services, c.var.caller, request));
  })
  .get("/files/:id", requireScope("read", "predict"), async (c) => {
    const { services, caller } = c.var;
    return c.json(await readReplicateFile(services, caller, c.req.param("id"), originOf(c)));
  })
  .get("/files/:id/download", requireScope("read", "predict"), async (c) => {
    const { services, caller } = c.var;
    return c.redirect(await replicateFileUrl(services, caller, c.req.param("id"), originOf(c)));
  })
  .delete("/files/:id", requireScopeToWrite("deleteUpload", "predict"), async (c) => {
    const id = uuid.safeParse(c.req.param("id")).data;
    if (id === undefined) throw notVisible("The file");
    await deleteUpload(c.var.services, c.var.caller, id, `The file '${id}'`);
    return c.body(null, 204);
  });
