/** The callers: three people, in their own accounts and for two organizations, and a service token. */
import type { Role } from "../../../src/protocol/organization.ts";

export type Account = "ada" | "bob" | "cyd" | "acme" | "zeta";

/** A caller of an organization is a member's token for it, or a service token: `member@organization`. */
export const CALLERS = {
  ada: { account: "ada", role: "owner" },
  bob: { account: "bob", role: "owner" },
  cyd: { account: "cyd", role: "owner" },
  "ada@acme": { account: "acme", role: "owner" },
  "bob@acme": { account: "acme", role: "developer" },
  "cyd@acme": { account: "acme", role: "member" },
  "service@acme": { account: "acme", role: "developer" },
  "cyd@zeta": { account: "zeta", role: "owner" },
} as const satisfies Record<string, { account: Account; role: Role }>;
export type Caller = keyof typeof CALLERS;
export const NAMES = Object.keys(CALLERS).filter((name): name is Caller => name in CALLERS);

export const eachCaller = <Value>(of: (by: Caller) => Value): Record<Caller, Value> => ({
  ada: of("ada"),
  bob: of("bob"),
  cyd: of("cyd"),
  "ada@acme": of("ada@acme"),
  "bob@acme": of("bob@acme"),
  "cyd@acme": of("cyd@acme"),
  "service@acme": of("service@acme"),
  "cyd@zeta": of("cyd@zeta"),
});

/** The accounts that run predictions, each with a caller that sees all of them. */
export const OWNERS = { ada: "ada", bob: "bob", acme: "ada@acme", zeta: "cyd@zeta" } as const;
export type Payer = keyof typeof OWNERS;
export const PAYERS = Object.keys(OWNERS).filter((name): name is Payer => name in OWNERS);

/** The private model of each organization. That of acme is shared with zeta until the share ends. */
export const PRIVATE = { acme: "text-generation", zeta: "hello" };

/** Returns the owner of the model that a call of an account runs. */
export function ownerOf(account: Account, model: string): Account {
  if (account === "acme" && model === PRIVATE.acme) return "acme";
  if (account !== "zeta") return "ada";
  return model === PRIVATE.zeta ? "zeta" : model === PRIVATE.acme ? "acme" : "ada";
}
