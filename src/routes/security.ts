/** /.well-known/security.txt: where to report vulnerabilities (RFC 9116). */
import { notFound } from "../errors/errors.ts";
import { router } from "./router.ts";

/** How long the file is valid: RFC 9116 recommends less than a year. */
const VALID_MS = 180 * 86_400_000;
const DAY_MS = 86_400_000;

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
