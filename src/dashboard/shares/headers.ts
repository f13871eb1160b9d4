/** Shared predictions: their address is a secret, so nobody is told it, and nothing is kept. */
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
  // As at their own addresses: what users have sent must not run scripts on this origin. An error is a page of ours.
  if (c.res.status < 400 && FILES.test(c.req.path))
    c.header("content-security-policy", "sandbox; default-src 'none'");
});
