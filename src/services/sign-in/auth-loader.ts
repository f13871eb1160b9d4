/**
 * The only way to better-auth, which is loaded when somebody first wants it: its modules take longer
 * to start than all others of the Worker together (200 ms), and the API never needs them.
 */
import { LRUCache } from "lru-cache";
import { ProblemError } from "../../errors.ts";
import type { Services } from "../services.ts";
import type { Auth } from "./auth.ts";

/**
 * What better-auth answers by itself, below /auth. Its other routes would be ways round our forms,
 * their limits and who may sign up.
 */
const EXPOSED = new Set([
  "GET /auth/callback/github",
  "GET /auth/passkey/generate-register-options",
  "POST /auth/passkey/verify-registration",
  "GET /auth/passkey/generate-authenticate-options",
  "POST /auth/passkey/verify-authentication",
]);

export const isExposed = (method: string, path: string): boolean =>
  EXPOSED.has(`${method} ${path}`);

/** A deployment has few origins: its own domain, the one at workers.dev. */
const MAX_ORIGINS = 8;

type Library = typeof import("./auth.ts");
let loaded: Library | undefined;

async function library(): Promise<Library> {
  loaded ??= await import("./auth.ts");
  return loaded;
}

const made = new WeakMap<Services, LRUCache<string, Auth>>();

/**
 * @param origin that the request came to: where passkeys are valid and GitHub sends people back.
 * @throws ProblemError unavailable while the deployment has no SECRET_KEY
 */
export async function getAuth(services: Services, origin: string): Promise<Auth> {
  if (services.settings.secretKeys.length === 0) {
    throw new ProblemError(
      "unavailable",
      "This deployment has no SECRET_KEY yet, and nobody can sign in: wrangler secret put SECRET_KEY",
    );
  }
  const { makeAuth } = await library();
  const ofOrigins = made.get(services) ?? new LRUCache<string, Auth>({ max: MAX_ORIGINS });
  made.set(services, ofOrigins);
  const auth = ofOrigins.get(origin) ?? makeAuth(services, origin);
  ofOrigins.set(origin, auth);
  return auth;
}

/** As better-auth compares it: scrypt, some 100 ms. */
export async function hashPassword(password: string): Promise<string> {
  return (await library()).hashPassword(password);
}

/** What `call` answers. @throws what `refusal` makes of it when better-auth says no */
export async function orRefusal<Answer>(
  call: Promise<Answer>,
  refusal: () => Error,
): Promise<Answer> {
  const { APIError } = await library();
  try {
    return await call;
  } catch (error) {
    throw error instanceof APIError ? refusal() : error;
  }
}
