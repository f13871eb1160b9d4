/** Entries of the audit log for what better-auth writes itself. Its hooks announce each write before it is made. */
import type { GenericEndpointContext } from "@better-auth/core";
import { z } from "zod";
import { findLogin } from "../../storage/accounts/sign-in.ts";
import { recordNextWrite } from "../../storage/audit/recorded-writes.ts";
import {
  type BegunWith,
  credentials,
  logins,
  passkeys,
  sessions,
} from "../../storage/schema/sign-in.ts";
import { loginEntry } from "../audit/sign-in.ts";
import type { Services } from "../services.ts";

type Context = GenericEndpointContext | null;

/** @param id of the session that begins */
export async function recordLogin(
  services: Services,
  { id, userId }: { id: string; userId: string },
  method: BegunWith | null,
  context: Context,
): Promise<void> {
  if (!(await isLogin(services, userId, context))) return;
  const details = { session_id: id, after: { method } };
  const entry = await loginEntry(services, "user.signed_in", userId, details);
  recordNextWrite("insert into", sessions, entry);
}

/**
 * Whether a new session is a login: it takes no other's place, and is not the one that better-auth begins and
 * ends between a password and a code.
 */
async function isLogin({ db }: Services, userId: string, context: Context): Promise<boolean> {
  if (context?.context.session) return false;
  return context?.path !== "/sign-in/email" || !(await findLogin(db, userId))?.twoFactorEnabled;
}

export async function recordLogout(
  services: Services,
  { id, userId }: { id: string; userId: string },
  context: Context,
): Promise<void> {
  if (context?.path !== "/sign-out") return;
  const entry = await loginEntry(services, "user.signed_out", userId, { session_id: id });
  recordNextWrite("delete from", sessions, entry);
}

export async function recordIdentity(
  services: Services,
  { userId, accountId, providerId }: { userId: string; accountId: string; providerId: string },
): Promise<void> {
  const target = { type: "identity", id: accountId, name: providerId };
  const entry = await loginEntry(services, "identity.linked", userId, { target });
  recordNextWrite("insert into", credentials, entry);
}

export async function recordSecondFactor(
  services: Services,
  { twoFactorEnabled }: Record<string, unknown>,
  context: Context,
): Promise<void> {
  const id = context?.context.session?.user.id;
  if (id === undefined || typeof twoFactorEnabled !== "boolean") return;
  const action = twoFactorEnabled ? "second_factor.enabled" : "second_factor.disabled";
  const after = { method: twoFactorEnabled ? "totp" : null };
  recordNextWrite("update", logins, await loginEntry(services, action, id, { after }));
}

/** @param id of the credential @param body of the request that adds the passkey */
export async function recordPasskey(
  services: Services,
  { id, userId }: { id: string; userId: string },
  body: unknown,
): Promise<void> {
  const target = { type: "passkey", id, name: named.parse(body).name };
  const entry = await loginEntry(services, "passkey.created", userId, { target });
  recordNextWrite("insert into", passkeys, entry);
}

const named = z.object({ name: z.string().catch("") });
