/**
 * Loads better-auth on first use: its modules take 200 ms to start, longer than the rest of the Worker
 * together, and the API never needs them.
 */
import { LRUCache } from "lru-cache";
import { sha256 } from "../../domain/accounts/token.ts";
import { ProblemError } from "../../errors/errors.ts";
import { OIDC } from "../../protocol/oidc.ts";
import type { Services } from "../services.ts";
import type { Auth, AuthSecret } from "./auth.ts";

/**
 * The routes of better-auth that are exposed below /auth. Other routes would bypass our forms, their rate
 * limits and the admission check.
 */
const EXPOSED = new Set([
  "GET /auth/callback/github",
  "GET /auth/passkey/generate-register-options",
  "POST /auth/passkey/verify-registration",
  "GET /auth/passkey/generate-authenticate-options",
  "POST /auth/passkey/verify-authentication",
]);

export const OIDC_CALLBACK = `/auth/callback/${OIDC}`;

export const isExposed = ({ settings }: Services, method: string, path: string): boolean =>
  (method === "GET" && path === OIDC_CALLBACK && settings.oidc !== undefined) ||
  (!settings.oidcOnly && EXPOSED.has(`${method} ${path}`));

/** The origins that are cached. A deployment has few: its domain, and the one at workers.dev. */
const MAX_ORIGINS = 8;

type Library = typeof import("./auth.ts");
let loaded: Library | undefined;

async function library(): Promise<Library> {
  loaded ??= await import("./auth.ts");
  return loaded;
}

const made = new WeakMap<Services, LRUCache<string, Auth>>();

/**
 * @param origin of the request: passkeys are valid for it, and providers redirect to it
 * @throws ProblemError unavailable while the deployment has no SECRET_KEY
 */
export async function getAuth(services: Services, origin: string): Promise<Auth> {
  if (services.settings.secretKeys.length === 0) {
    throw new ProblemError(
      "unavailable",
      "Login is disabled because this deployment has no SECRET_KEY. Set one with: wrangler secret put SECRET_KEY",
    );
  }
  const { makeAuth } = await library();
  const secrets = await authSecrets(services.settings.secretKeys);
  const ofOrigins = made.get(services) ?? new LRUCache<string, Auth>({ max: MAX_ORIGINS });
  made.set(services, ofOrigins);
  const auth = ofOrigins.get(origin) ?? makeAuth(services, origin, secrets);
  ofOrigins.set(origin, auth);
  return auth;
}

const VERSION_DIGITS = 12;

/** Returns the keys with numbers that follow from the key alone, so that a rotation changes none. */
export const authSecrets = (keys: readonly string[]): Promise<AuthSecret[]> =>
  Promise.all(
    keys.map(async (value) => {
      const digits = (await sha256(`better-auth ${value}`)).slice(0, VERSION_DIGITS);
      return { version: Number.parseInt(digits, 16), value };
    }),
  );

/** Encrypts a text again that better-auth has encrypted, with the first of the keys. */
export async function encryptAgain(secrets: AuthSecret[], text: string): Promise<string> {
  const { symmetricDecrypt, symmetricEncrypt } = await library();
  const keys = new Map(secrets.map(({ version, value }) => [version, value]));
  const key = { keys, currentVersion: secrets[0]?.version ?? 0 };
  return symmetricEncrypt({ key, data: await symmetricDecrypt({ key, data: text }) });
}

/** The hash that better-auth verifies: scrypt, about 100 ms. */
export async function hashPassword(password: string): Promise<string> {
  return (await library()).hashPassword(password);
}

/**
 * Returns the result of `call`. @throws the error of `refusal` when better-auth rejects it
 * @param refusal takes the code of better-auth's error
 */
export async function orRefusal<Answer>(
  call: Promise<Answer>,
  refusal: (code: string | undefined) => Error,
): Promise<Answer> {
  const { APIError } = await library();
  try {
    return await call;
  } catch (error) {
    throw error instanceof APIError ? refusal(error.body?.code) : error;
  }
}
