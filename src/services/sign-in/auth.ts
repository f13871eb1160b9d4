/**
 * better-auth, configured for this deployment: passwords, GitHub, OpenID Connect, passkeys and sessions. Only
 * auth-loader.ts imports it, and does so lazily: it is half of the Worker's code.
 */
import type { GenericEndpointContext } from "@better-auth/core";
import { passkey } from "@better-auth/passkey";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { APIError } from "better-auth/api";
import { betterAuth } from "better-auth/minimal";
import { twoFactor } from "better-auth/plugins/two-factor";
import { OIDC } from "../../protocol/oidc.ts";
import { MAX_PASSWORD, MIN_PASSWORD } from "../../protocol/sign-in.ts";
import { recordedDatabase } from "../../storage/audit/recorded-writes.ts";
import { database } from "../../storage/database.ts";
import {
  type BegunWith,
  credentials,
  logins,
  passkeys,
  sessions,
  twoFactors,
  verifications,
} from "../../storage/schema/sign-in.ts";
import type { Services } from "../services.ts";
import {
  admissionOfNewUser,
  FRESH_SECONDS,
  INVITATION_COOKIE,
  isAdmitted,
  isAdmittedByDomain,
  readAdmission,
  SESSION_SECONDS,
} from "./admission.ts";
import { oidcProvider } from "./oidc-provider.ts";
import {
  recordIdentity,
  recordLogin,
  recordLogout,
  recordPasskey,
  recordSecondFactor,
} from "./recorded-logins.ts";

const DAY_SECONDS = 86_400;

export type Auth = ReturnType<typeof makeAuth>;

/** A key of SECRET_KEY, and the number by which better-auth notes it beside what it encrypts. */
export interface AuthSecret {
  version: number;
  value: string;
}

/** @param secrets newest first */
export function makeAuth(services: Services, origin: string, secrets: AuthSecret[]) {
  const { settings } = services;
  const db = database(recordedDatabase(services.env.DB));
  const secure = origin.startsWith("https:");
  return betterAuth({
    appName: "Auspex",
    baseURL: origin,
    basePath: "/auth",
    secrets,
    trustedOrigins: [origin],
    telemetry: { enabled: false },
    database: drizzleAdapter(db, {
      provider: "sqlite",
      transaction: false,
      schema: {
        user: logins,
        session: sessions,
        account: credentials,
        verification: verifications,
        passkey: passkeys,
        twoFactor: twoFactors,
      },
    }),
    // sign-up.ts creates accounts, since it checks admission.
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: MIN_PASSWORD,
      maxPasswordLength: MAX_PASSWORD,
    },
    socialProviders: {
      ...(settings.github &&
        !settings.oidcOnly && { github: { ...settings.github, scope: ["user:email"] } }),
    },
    account: {
      // Implicit linking is off: someone else could register an account elsewhere with the same email address.
      // Linking in a session is for any address of the provider's: the person has both accounts.
      accountLinking: {
        enabled: true,
        disableImplicitLinking: true,
        allowDifferentEmails: true,
        trustedProviders: [OIDC],
      },
      // The tokens are not needed after the login.
      encryptOAuthTokens: true,
    },
    session: {
      expiresIn: SESSION_SECONDS,
      updateAge: DAY_SECONDS,
      freshAge: FRESH_SECONDS,
      additionalFields: { begunWith: { type: "string", required: false, input: false } },
    },
    // This page shows errors of callbacks that do not match this browser: better-auth's own error page
    // is not exposed.
    onAPIError: { errorURL: `${origin}/sign-in` },
    // Attempts are limited earlier, before any look-up (middleware/rate-limit.ts).
    rateLimit: { enabled: false },
    databaseHooks: {
      session: {
        create: {
          before: async ({ userId }, context) => {
            const session = { id: crypto.randomUUID(), begunWith: begunWith(context) };
            await recordLogin(services, { ...session, userId }, session.begunWith, context);
            return { data: session };
          },
        },
        delete: { before: (session, context) => recordLogout(services, session, context) },
      },
      account: { create: { before: (identity) => recordIdentity(services, identity) } },
      user: {
        update: { before: (changes, context) => recordSecondFactor(services, changes, context) },
        create: {
          // A new user signing up with GitHub or OpenID Connect.
          before: async (user, context) => {
            const invitation = context?.getCookie(INVITATION_COOKIE) ?? undefined;
            const admission = await readAdmission(services, { invitation });
            const by_domain =
              context?.params?.id === OIDC ? isAdmittedByDomain(services, user) : undefined;
            if (isAdmitted(services, { ...admissionOfNewUser(admission), by_domain })) return;
            throw context?.redirect("/sign-in?error=not_admitted");
          },
        },
      },
    },
    advanced: {
      // A subdomain or a plain http origin cannot set cookies with this prefix, unlike those of
      // `useSecureCookies`.
      cookiePrefix: secure ? "__Host-auspex" : "auspex",
      useSecureCookies: false,
      defaultCookieAttributes: { httpOnly: true, secure, sameSite: "lax", path: "/" },
      ipAddress: { ipAddressHeaders: ["cf-connecting-ip"] },
      database: { generateId: "uuid" },
    },
    plugins: [
      passkey({
        rpName: "Auspex",
        rpID: new URL(origin).hostname,
        origin,
        registration: {
          afterVerification: async ({ ctx, user, verification: { registrationInfo } }) => {
            const passkey = { id: registrationInfo?.credential.id ?? "", userId: user.id };
            await recordPasskey(services, passkey, ctx.body);
          },
        },
      }),
      {
        id: OIDC,
        init: ({ socialProviders }) => ({
          context: {
            socialProviders: settings.oidc
              ? [oidcProvider(settings.oidc), ...socialProviders]
              : socialProviders,
          },
        }),
      },
      // After 10 wrong codes in a row, logins of the account wait for 15 minutes.
      twoFactor({ issuer: `Auspex (${new URL(origin).host})` }),
    ],
  });
}

/** How a session begins, by the endpoint of better-auth that begins it. */
const BEGINNINGS: Record<string, BegunWith> = {
  "/sign-in/email": "password",
  "/two-factor/verify-totp": "totp",
  "/two-factor/verify-backup-code": "totp",
  "/passkey/verify-authentication": "passkey",
};

/** Returns how a new session begins. One that takes another's place, as with a new password, has that one's. */
function begunWith(context: GenericEndpointContext | null): BegunWith | null {
  const { path = "", params, context: { session } = {} } = context ?? {};
  if (path === "/callback/:id") return params?.id === OIDC ? "oidc" : "github";
  const beginning = BEGINNINGS[path] ?? session?.session.begunWith ?? null;
  return path === "/two-factor/disable" && beginning === "totp" ? "password" : beginning;
}

export { hashPassword, symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
export { APIError };
