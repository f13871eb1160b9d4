/** /.well-known/security.txt: whom to tell of a weakness (RFC 9116). */
import { notFound } from "../errors.ts";
import { router } from "./router.ts";

/** The RFC wants less than a year. */
const GOOD_FOR_MS = 180 * 86_400_000;
const DAY_MS = 86_400_000;

export const securityRoutes = router().get("/.well-known/security.txt", (c) => {
  const { securityContact } = c.var.services.settings;
  if (securityContact === undefined)
    throw notFound("A contact for security (the operator sets SECURITY_CONTACT)");
  const expires = Math.ceil((Date.now() + GOOD_FOR_MS) / DAY_MS) * DAY_MS;
  const lines = [
    `Contact: ${securityContact}`,
    `Expires: ${new Date(expires).toISOString()}`,
    `Canonical: ${new URL(c.req.url).origin}/.well-known/security.txt`,
  ];
  return c.text(`${lines.join("\n")}\n`, 200, { "cache-control": "public, max-age=86400" });
});
