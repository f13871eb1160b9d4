/**
 * The sender of a registry request: a user with an access token, a runner with a grant, or anybody. Clients
 * send a token or grant as a bearer token, which they got at /v2/token for the same as a password, or
 * directly as a password.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { isToken } from "../domain/accounts/token.ts";
import { WRITE_ROWS } from "../domain/accounts/write-rows.ts";
import { ProblemError } from "../errors/errors.ts";
import { RegistryError } from "../errors/registry.ts";
import { ANONYMOUS_TOKEN } from "../protocol/registry.ts";
import type { Caller } from "../services/access/access.ts";
import { grantedModel, type Puller } from "../services/registry/repositories.ts";
import { identifyUser } from "./authentication.ts";
import { lengthOf, limitAddress, limitRate, meterWrites } from "./rate-limit.ts";

const READING = ["GET", "HEAD"];

/** Resolves the sender, and counts the request. */
export const registryCaller = createMiddleware<AppEnv>(async (c, next) => {
  const credential = credentialOf(c);
  if (credential === undefined || credential === ANONYMOUS_TOKEN) await limitAddress(c);
  else if (isToken(credential, "aus")) {
    const caller = await identifyUser(c, credential);
    await limitRate(c, "registry", caller.user_id);
    c.set("caller", caller);
    if (!READING.includes(c.req.method)) {
      const bytes = lengthOf(c.req.header("content-length"));
      return meterWrites(c, caller.user_id, { rows: WRITE_ROWS.pushImage, bytes }, next);
    }
  } else {
    const granted = await grantedModel(c.var.services, credential);
    if (granted === undefined) {
      await limitAddress(c);
      throw wrongPassword();
    }
    await limitRate(c, "registry", granted);
    c.set("granted", granted);
  }
  await next();
});

/**
 * Resolves the sender again during a long upload: the credential may have been revoked, or its role lowered.
 * @throws ProblemError
 */
export async function requireValidCredential(c: Context<AppEnv>): Promise<void> {
  c.set("caller", await identifyUser(c, credentialOf(c) ?? ""));
}

/** Whether the request has any credential; `ANONYMOUS_TOKEN` is one, too. */
export const hasCredential = (c: Context): boolean => credentialOf(c) !== undefined;

/** Refuses anybody who has not logged in. Credentials are checked by `registryCaller`. @throws ProblemError */
export async function requireLogin(c: Context<AppEnv>): Promise<void> {
  const credential = credentialOf(c);
  if (credential !== undefined && credential !== ANONYMOUS_TOKEN) return;
  await limitAddress(c);
  throw notLoggedIn();
}

/** Returns the sender of a pull. A token without the scopes for reading or writing counts as no token. */
export function pullerOf({ var: { caller, granted } }: Context<AppEnv>): Puller {
  const reads = caller?.scopes.some((scope) => scope === "read" || scope === "write");
  return { caller: reads ? caller : undefined, granted };
}

/** @throws ProblemError unauthenticated; RegistryError DENIED */
export function pusherOf({ var: { caller } }: Context<AppEnv>): Caller {
  if (!caller) {
    throw new ProblemError(
      "unauthenticated",
      "Log in to push. Use any username, and an access token with the scope write as the password.",
    );
  }
  if (caller.scopes.includes("write")) return caller;
  throw new RegistryError(
    403,
    "DENIED",
    "Pushing requires a token with the scope write. Create one at /tokens.",
  );
}

/** The token of a bearer, or the password of a Basic login. */
export function credentialOf({ req }: Context): string | undefined {
  const header = req.header("authorization");
  if (header === undefined) return undefined;
  const [, scheme = "", text = ""] = /^(bearer|basic) +(\S+)$/i.exec(header) ?? [];
  return scheme.toLowerCase() === "basic" ? passwordOf(text) : text;
}

function passwordOf(encoded: string): string {
  try {
    const login = atob(encoded);
    return login.slice(login.indexOf(":") + 1);
  } catch {
    return "";
  }
}

/** Docker sends credentials only after a request without them was refused. */
export const notLoggedIn = () =>
  new ProblemError("unauthenticated", "Authentication required. Log in with docker login.");

const wrongPassword = () =>
  new ProblemError(
    "unauthenticated",
    "The password is not a valid access token. Create one at /tokens, and log in with any user name.",
  );
