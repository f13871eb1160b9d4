/**
 * Files at an address of their own (FILES_ORIGIN): nothing else is there, and a signed address that
 * was given out before leads there. What users upload is then of another origin than the pages.
 */
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { ProblemError } from "../errors.ts";

const FILE = /^\/v1\/files\/[^/]+\/[^/]+$/;
const READS = ["GET", "HEAD"];

export const separateFilesOrigin = createMiddleware<AppEnv>(async (c, next) => {
  const { filesOrigin } = c.var.services.settings;
  if (filesOrigin === undefined) return next();
  const { origin, pathname, search } = new URL(c.req.url);
  const isFile = FILE.test(pathname) && READS.includes(c.req.method);
  if (origin !== filesOrigin) {
    if (isFile && c.req.query("signature") !== undefined)
      return c.redirect(`${filesOrigin}${pathname}${search}`, 307);
  } else if (!isFile && !(FILE.test(pathname) && c.req.method === "OPTIONS")) {
    throw new ProblemError("not_found", "This address has files and nothing else.");
  }
  await next();
});
