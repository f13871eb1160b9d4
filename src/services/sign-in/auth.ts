/**
 * better-auth, configured for this deployment: passwords, GitHub, passkeys and sessions. Only
 * auth-loader.ts imports it, and does so lazily: it is half of the Worker's code.
 */
import { passkey } from "@better-auth/passkey";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { APIError } from "better-auth/api";
import { betterAuth } from "better-auth/minimal";
import { MAX_PASSWORD, MIN_PASSWORD } from "../../protocol/sign-in.ts";
import {
  credentials,
  logins,
  passkeys,
  sessions,
  verifications,
} from "../../storage/schema/sign-in.ts";
import type { Services } from "../services.ts";
import {
  admissionOfNewUser,
  FRESH_SECONDS,
  INVITATION_COOKIE,
  isAdmitted,
  readAdmission,
  SESSION_SECONDS,
} from "./admission.ts";

const DAY_SECONDS = 86_400;

export type Auth = ReturnType<typeof makeAuth>;

export function makeAuth(services: Services, origin: string) {
  const { db, settings } = services;
  const secure = origin.startsWith("https:");
  return betterAuth({
    appName: "Auspex",
    baseURL: origin,
    basePath: "/auth",
    secrets: settings.secretKeys.map((value, n, all) => ({ version: all.length - n, value })),
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
      ...(settings.github && { github: { ...settings.github, scope: ["user:email"] } }),
    },
    account: {
      // Implicit linking is off: someone else could register a GitHub account with the same email address.
      accountLinking: { enabled: true, disableImplicitLinking: true },
      // The tokens are not needed after the login.
      encryptOAuthTokens: true,
    },
    session: {
      expiresIn: SESSION_SECONDS,
      updateAge: DAY_SECONDS,
      freshAge: FRESH_SECONDS,
    },
    // This page shows errors of GitHub callbacks that do not match this browser: better-auth's own error page
    // is not exposed.
    onAPIError: { errorURL: `${origin}/sign-in` },
    // Attempts are limited earlier, before any look-up (middleware/rate-limit.ts).
    rateLimit: { enabled: false },
    databaseHooks: {
      user: {
        create: {
          // A new user signing up with GitHub.
          before: async (_, context) => {
            const invitation = context?.getCookie(INVITATION_COOKIE) ?? undefined;
            if (
              isAdmitted(
                services,
                admissionOfNewUser(await readAdmission(services, { invitation })),
              )
            )
              return;
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
    plugins: [passkey({ rpName: "Auspex", rpID: new URL(origin).hostname, origin })],
  });
}

export { hashPassword } from "better-auth/crypto";
export { APIError };
