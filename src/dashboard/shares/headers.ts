/** Headers of shared predictions: their address is a secret, so it is not sent to others and not cached. */
import { createMiddleware } from "hono/factory";
import type { Dashboard } from "../context.ts";

const SHARED = "/shared/";
const FILES = /^\/shared\/\w+\/files\//;

export const privateHeaders = createMiddleware<Dashboard>(async (c, next) => {
  await next();
  if (!c.req.path.startsWith(SHARED)) return;
  c.header("referrer-policy", "no-referrer");
  c.header("x-robots-tag", "noindex, nofollow, noarchive");
  c.header("cache-control", "no-store");
  // Files get the headers of their own addresses: they must not run scripts here. Errors are pages of ours.
  if (c.res.status < 400 && FILES.test(c.req.path))
    c.header("content-security-policy", "sandbox; default-src 'none'");
});
