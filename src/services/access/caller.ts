/** The authenticated sender of a request. */
import type { Principal } from "../../domain/accounts/access.ts";
import type { Priority } from "../../protocol/common.ts";
import type { Scope } from "../../protocol/operator.ts";

/** A user with an access token, or with a session, which covers all models. */
export interface Caller extends Principal {
  scopes: Scope[];
  token_name?: string;
  /** The only priority that the caller's predictions may have. Null: any. */
  priority: Priority | null;
  /** Whether the request was authenticated by a session of the dashboard. */
  is_session?: boolean;
}

export interface RunnerCaller {
  token_id: string;
  /** When D1 last confirmed the token, Unix ms: at most 10 s ago, or 60 s while D1 fails. */
  token_known_at: number;
  /** The hardware classes that the token allows. */
  hardware: string[];
}
