/** The variables of login with OpenID Connect. */
import { z } from "zod";
import { oidcGroups, oidcIssuer } from "./protocol/oidc.ts";

/** Texts separated by commas. */
export const list = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((item) => item.trim())
      .filter(Boolean),
  );

export const oidcVariables = {
  SIGN_IN: z.enum(["all", "oidc"]).default("all"),
  OIDC_ISSUER: oidcIssuer.optional(),
  OIDC_CLIENT_ID: z.string().default(""),
  OIDC_CLIENT_SECRET: z.string().default(""),
  OIDC_NAME: z.string().default(""),
  OIDC_DOMAINS: list,
  OIDC_GROUPS: oidcGroups.default(new Map()),
  OIDC_GROUPS_CLAIM: z.string().min(1).default("groups"),
  OIDC_DAYS: z.coerce.number().positive().default(7),
};

const shape = z.object(oidcVariables);
type Variables = z.infer<typeof shape>;

export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The name of the provider on buttons. */
  name: string;
  /** The domains whose people may create an account. Empty: SIGN_UP decides. */
  domains: string[];
  /** Roles in organizations by the names of groups. */
  groups: Variables["OIDC_GROUPS"];
  groupsClaim: string;
  /** How long memberships from groups last after a login. */
  lapseMs: number;
}

/** @returns undefined for a deployment without a provider */
export const oidcSettings = (v: Variables): OidcSettings | undefined =>
  v.OIDC_ISSUER === undefined
    ? undefined
    : {
        issuer: v.OIDC_ISSUER,
        clientId: v.OIDC_CLIENT_ID,
        clientSecret: v.OIDC_CLIENT_SECRET,
        name: v.OIDC_NAME || "single sign-on",
        domains: v.OIDC_DOMAINS.map((domain) => domain.toLowerCase()),
        groups: v.OIDC_GROUPS,
        groupsClaim: v.OIDC_GROUPS_CLAIM,
        lapseMs: v.OIDC_DAYS * 86_400_000,
      };

const TOGETHER = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"] as const;

/** Without a provider, `SIGN_IN = "oidc"` would let nobody in. */
export function requireProvider({ value, issues }: z.core.ParsePayload<Variables>): void {
  if (value.OIDC_ISSUER === undefined && value.SIGN_IN === "all") return;
  for (const name of TOGETHER) {
    if (value[name]) continue;
    const message =
      "is missing. OIDC_ISSUER, OIDC_CLIENT_ID and the secret OIDC_CLIENT_SECRET belong together";
    issues.push({ code: "custom", input: value[name], path: [name], message });
  }
}

/** Checks these variables before a deploy. @throws Error naming those that are invalid */
export function checkOidcVariables(vars: object): void {
  // The secret is checked with the other secrets (dev/deploy/steps.ts).
  const result = shape
    .check(requireProvider)
    .safeParse({ ...vars, OIDC_CLIENT_SECRET: "a secret" });
  if (!result.success) throw invalidVariables(result.error);
}

export const invalidVariables = (error: z.ZodError) =>
  new Error(`wrangler.toml [vars] or secrets: ${z.prettifyError(error)}`);
