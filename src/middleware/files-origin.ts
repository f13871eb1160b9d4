/**
 * Serves files from an origin of their own (FILES_ORIGIN), so that uploads never share an origin with
 * the pages. Nothing else is served there, and signed URLs of the main origin redirect to it.
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
  // The router decodes `/%761/files`, so the undecoded path says nothing about the route.
  const isFilePath = FILE.test(c.req.path);
  const isFile = isFilePath && READS.includes(c.req.method);
  if (origin !== filesOrigin) {
    if (isFile && c.req.query("signature") !== undefined)
      return c.redirect(`${filesOrigin}${pathname}${search}`, 307);
  } else if (!isFile && !(isFilePath && c.req.method === "OPTIONS")) {
    throw new ProblemError("not_found", "This origin serves only files.");
  }
  await next();
});
