/** Documents of the deployment: its health, security.txt, the OpenAPI document, and assets of earlier deployments. */

import { $ } from "@hono/zod-openapi";
import type { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { notFound } from "../errors/errors.ts";
import { conditionalGet } from "../middleware/conditional.ts";
import { limitAddress } from "../middleware/rate-limit.ts";
import { createDocument, DOCUMENT_CACHE, perOrigin } from "../openapi/document.ts";
import { DEFAULT_HARDWARE } from "../protocol/hardware.ts";
import { readManifest } from "../services/assets.ts";
import { getHardware } from "../services/runners/hardware.ts";
import { router } from "./router.ts";

/** esbuild's hash between a file's name and its extension. */
const HASH = /-[A-Z0-9]{8}(?=\.\w+$)/;

/** How long the file is valid: RFC 9116 recommends less than a year. */
const VALID_MS = 180 * 86_400_000;
const DAY_MS = 86_400_000;

/** /.well-known/security.txt: where to report vulnerabilities (RFC 9116). */
export const securityRoutes = router().get("/.well-known/security.txt", (c) => {
  const { securityContact } = c.var.services.settings;
  if (securityContact === undefined)
    throw notFound("A security contact (set by the operator as SECURITY_CONTACT)");
  const expires = Math.ceil((Date.now() + VALID_MS) / DAY_MS) * DAY_MS;
  const lines = [
    `Contact: ${securityContact}`,
    `Expires: ${new Date(expires).toISOString()}`,
    `Canonical: ${new URL(c.req.url).origin}/.well-known/security.txt`,
  ];
  return c.text(`${lines.join("\n")}\n`, 200, { "cache-control": "public, max-age=86400" });
});

/** /health: whether the Worker answers from its database, for monitors and `npm run deploy`. */
export const healthRoutes = router().get("/health", async (c) => {
  await limitAddress(c);
  await getHardware(c.var.services, DEFAULT_HARDWARE);
  return c.json({ status: "ok" });
});

/**
 * Assets of an earlier deployment that open pages still ask for: the response is the current file of the same
 * name. Assets of the current deployment are served before the Worker is called.
 */
export const assetRoutes = router().get("/assets/:file", async (c) => {
  const { files } = await readManifest(c.env);
  const name = c.req.path.replace(HASH, "");
  const current = Object.values(files).find((path) => path.replace(HASH, "") === name);
  const isOld = name !== c.req.path && current !== c.req.path;
  if (current === undefined || !isOld) throw notFound("The file");
  c.header("cache-control", "no-store");
  return c.redirect(current);
});

/** Describes the routes that `app` has when this is called: mount it after them. */
export function mountOpenapi(app: Hono<AppEnv>): void {
  const api = $(app);
  const json = perOrigin((shape, origin) => JSON.stringify(createDocument(api, shape, origin)));
  app.get("/v1/openapi.json", conditionalGet, (c) =>
    c.body(json(c), 200, { "content-type": "application/json", "cache-control": DOCUMENT_CACHE }),
  );
}
