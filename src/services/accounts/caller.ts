/** The authenticated sender of a request. */
import type { Principal } from "../../domain/accounts/access.ts";
import type { Scope } from "../../protocol/operator.ts";

/** A user with an access token, or with a session, which covers all models. */
export interface Caller extends Principal {
  scopes: Scope[];
  /** Whether it came with a session of the dashboard. */
  is_session?: boolean;
}

export interface RunnerCaller {
  token_id: string;
  /** When the token was last confirmed valid, Unix ms: at most 10 s ago. */
  token_known_at: number;
  /** The hardware classes that the token allows. */
  hardware: string[];
}
