/** Whether those who read streams still may: a cache of tokens and sessions by id. */
import { RECENT_CHECK_MS } from "../../domain/accounts/access-checks.ts";
import { cached } from "../cache.ts";
import type { Database } from "../database.ts";
import { findLiveSession } from "./sign-in.ts";
import { findLiveToken } from "./tokens.ts";

const tokens = cached({ max: 10_000 }, findLiveToken);

const sessions = cached({ max: 10_000 }, async (db: Database, id: string) => {
  const session = await findLiveSession(db, id);
  return session && { expires_at: session.expires_at.getTime() };
});

const BY_KIND = { token: tokens, session: sessions };

export interface Credential {
  kind: keyof typeof BY_KIND;
  id: string;
}

/** Whether it was valid at most RECENT_CHECK_MS ago, and has not expired since. */
export async function isLive(db: Database, { kind, id }: Credential): Promise<boolean> {
  const found = await BY_KIND[kind].get(db, id, RECENT_CHECK_MS);
  return found !== undefined && (found.expires_at === null || found.expires_at > Date.now());
}
