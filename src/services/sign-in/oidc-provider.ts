/**
 * The deployment's OpenID Connect provider, as better-auth's core wants one. better-auth keeps state, nonce and
 * the verifier of PKCE; this file asks the provider, and verifies what it says.
 *
 * better-auth's plugin for generic providers reads the discovery document once per isolate, before the first
 * session is looked up: while the provider is down, pages wait for it, and an isolate that could not read it
 * offers no login until it ends. Here each login reads the document and the keys anew: logins are rare, and a
 * rotated key is followed at once.
 */
import {
  authorizationCodeRequest,
  createAuthorizationURL,
  type OAuthProvider,
} from "better-auth/oauth2";
import { createLocalJWKSet, jwtVerify } from "jose";
import { z } from "zod";
import type { OidcSettings } from "../../env-oidc.ts";
import { ProblemError } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import {
  OIDC,
  type OidcClaims,
  oidcClaims,
  oidcDiscovery,
  oidcTokens,
} from "../../protocol/oidc.ts";
import { accountIdOf, rememberPerson } from "./oidc-person.ts";

const TIMEOUT_MS = 10_000;
/** How far the provider's clock may be from ours. */
const TOLERANCE_SECONDS = 60;
/** Signatures with a public key. The client's secret is no key of tokens. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
];

const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

type Tokens = z.infer<typeof oidcTokens>;

export const oidcProvider = (settings: OidcSettings): OAuthProvider => ({
  id: OIDC,
  name: settings.name,
  issuer: settings.issuer,
  requiresIdTokenNonce: true,
  accountSubject: ({ profile }) => accountIdOf(settings, oidcClaims.parse(profile).sub),

  async createAuthorizationURL({ state, codeVerifier, redirectURI, idTokenNonce: nonce }) {
    const { authorization_endpoint: authorizationEndpoint } = await discover(settings);
    return createAuthorizationURL({
      ...{ id: OIDC, options: settings, authorizationEndpoint },
      ...{ state, codeVerifier, redirectURI, scopes: ["openid", "profile", "email"] },
      ...(nonce !== undefined && { nonce }),
    });
  },

  /** The tokens are returned where better-auth does not store them: nothing needs them after the login. */
  async validateAuthorizationCode({ code, codeVerifier, redirectURI }) {
    const { token_endpoint: tokenEndpoint, token_endpoint_auth_methods_supported: methods } =
      await discover(settings);
    const authentication = methods.includes("client_secret_basic") ? "basic" : "post";
    const { body, headers } = await authorizationCodeRequest({
      ...{ code, codeVerifier, redirectURI, options: settings, tokenEndpoint, authentication },
    });
    const raw = await ask(tokenEndpoint, oidcTokens, { method: "POST", body, headers });
    return { raw };
  },

  async getUserInfo({ raw, expectedIdTokenNonce: nonce }) {
    try {
      const claims = await readClaims(settings, oidcTokens.parse(raw), nonce);
      rememberPerson(settings, claims);
      const { email = null, email_verified: emailVerified = false, name = "" } = claims;
      return { user: { email, emailVerified, name }, data: claims };
    } catch (error) {
      logger.warn("The identity from the OpenID Connect provider was refused", { error });
      return null;
    }
  },
});

/** Returns the verified claims of a person. The provider may keep some of them at its userinfo endpoint. */
async function readClaims(
  settings: OidcSettings,
  { id_token, access_token }: Tokens,
  nonce: string | undefined,
): Promise<OidcClaims> {
  const { issuer, clientId, groups, groupsClaim } = settings;
  const { jwks_uri, userinfo_endpoint } = await discover(settings);
  const { payload } = await jwtVerify(id_token, createLocalJWKSet(await ask(jwks_uri, keySet)), {
    issuer,
    audience: clientId,
    algorithms: ALGORITHMS,
    clockTolerance: TOLERANCE_SECONDS,
    requiredClaims: ["sub", "exp", "iat"],
  });
  if (nonce === undefined || payload.nonce !== nonce) throw new Error("Its nonce is another");
  if (payload.azp !== undefined && payload.azp !== clientId)
    throw new Error("It was issued to another client");
  const claims = oidcClaims.parse(payload);
  const isWhole = claims.email !== undefined && (groups.size === 0 || groupsClaim in claims);
  if (isWhole || userinfo_endpoint === undefined || access_token === undefined) return claims;
  const authorization = `Bearer ${access_token}`;
  const others = await ask(userinfo_endpoint, oidcClaims, { headers: { authorization } });
  if (others.sub !== claims.sub)
    throw new Error("Its userinfo endpoint answered for another person");
  return oidcClaims.parse({ ...others, ...payload });
}

/** @throws ProblemError unavailable */
async function discover({ issuer }: OidcSettings) {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let found: z.infer<typeof oidcDiscovery>;
  try {
    found = await ask(address, oidcDiscovery);
  } catch (error) {
    logger.error("The OpenID Connect provider could not be reached", { address, error });
    throw new ProblemError(
      "unavailable",
      "The login provider does not answer. Try again in a minute, or tell an operator.",
    );
  }
  if (found.issuer === issuer) return found;
  logger.error("OIDC_ISSUER is not what the provider calls itself", { issuer: found.issuer });
  throw new ProblemError(
    "unavailable",
    `The login provider calls itself '${found.issuer}'. An operator has to set OIDC_ISSUER to this.`,
  );
}

/** Requests JSON of the provider. Redirects are refused: a code or a secret must reach nobody else. */
async function ask<Shape extends z.ZodType>(
  url: string,
  shape: Shape,
  init: { method?: string; body?: URLSearchParams; headers?: Record<string, string> } = {},
): Promise<z.infer<Shape>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { ...init, redirect: "manual", signal });
  if (response.ok) return shape.parse(await response.json());
  const answer = failure.safeParse(await response.json().catch(() => undefined));
  const { error, error_description } = answer.data ?? {};
  throw new Error([`${url} answered ${response.status}`, error, error_description].join(" "));
}

const failure = z.object({ error: z.string(), error_description: z.string().optional() });
