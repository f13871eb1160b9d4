/** The people, settings and commands that tests and the provider share. */
import type {} from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The address of the provider, and that of its commands. */
    oidc: { issuer: string; door: string };
  }
}

export interface ProviderPerson {
  sub: string;
  claims: Record<string, unknown>;
  /** Whether only the userinfo endpoint has the claims. */
  thin?: boolean;
  /** Claims of the next ID tokens in place of those of the provider. Null: without the claim. */
  forged?: Record<string, unknown>;
}

export type Command =
  | { verb: "person"; person: ProviderPerson }
  | { verb: "authorize"; url: string; sub: string }
  | { verb: "rotate" };

export const CLIENT = { clientId: "auspex", clientSecret: "a-secret-of-the-client" };

/** The deployment has several origins, because the configuration of an origin is cached. */
export const ORIGINS = ["https://oidc.auspex.test", "https://oidc-only.auspex.test"] as const;
