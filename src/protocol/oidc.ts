/** Login with an OpenID Connect provider: its settings, and what is read of its answers. */
import { z } from "zod";
import { slug } from "./common.ts";
import { type Role, role } from "./organization.ts";

/** The name of the provider in callbacks and in `credentials.provider_id`. */
export const OIDC = "oidc";

/** The role in an organization that the members of a group have. */
interface GroupRole {
  organization: string;
  role: Role;
}

const groupRole = z.string().transform((text, context): GroupRole => {
  const [name, roleName, ...rest] = text.split(":");
  const organization = slug.safeParse(name);
  const found = role.safeParse(roleName);
  if (organization.success && found.success && rest.length === 0)
    return { organization: organization.data, role: found.data };
  context.addIssue(`'${text}' is not an organization and a role, such as "acme:developer"`);
  return z.NEVER;
});

/** Roles by the names of groups: a table of wrangler.toml, or JSON. Empty: none. */
export const oidcGroups = z
  .preprocess(
    (value, context) => {
      if (typeof value !== "string") return value;
      try {
        return value === "" ? {} : JSON.parse(value);
      } catch {
        context.addIssue('is not JSON. Write it as {"engineering": "acme:developer"}');
        return z.NEVER;
      }
    },
    z.record(z.string(), groupRole),
  )
  .transform((groups) => new Map(Object.entries(groups)));

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash } = new URL(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
  return isSafe && search + hash === "";
}

/** The issuer as the provider writes it: it names tokens by it, character for character. Empty: none. */
export const oidcIssuer = z
  .string()
  .refine(
    (text) => text === "" || isIssuer(text),
    "Not an https: URL without a query. Take the 'issuer' of the provider's discovery document",
  )
  .transform((text) => text || undefined);

/** The discovery document of a provider, which names its endpoints. */
export const oidcDiscovery = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  userinfo_endpoint: z.url().optional(),
  /** The default is that of OpenID Connect Discovery 1.0. */
  token_endpoint_auth_methods_supported: z.array(z.string()).default(["client_secret_basic"]),
});

export const oidcTokens = z.object({ id_token: z.string(), access_token: z.string().optional() });

/** The claims that are read, besides that of groups. */
export const oidcClaims = z.looseObject({
  sub: z.string().min(1).max(255),
  email: z.string().optional().catch(undefined),
  /** Some providers send the text "true". */
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(undefined),
  name: z.string().optional().catch(undefined),
  preferred_username: z.string().optional().catch(undefined),
});
export type OidcClaims = z.infer<typeof oidcClaims>;

/** A claim of groups: a list, or one name. */
export const groupsClaim = z.union([z.array(z.string()), z.string().transform((one) => [one])]);
