/** The authenticated sender of a request. */
import type { Principal } from "../../domain/accounts/access.ts";
import type { Scope } from "../../protocol/operator.ts";
import type { Priority } from "../../protocol/priority.ts";

/** A user with an access token, or with a session, which covers all models. */
export interface Caller extends Principal {
  scopes: Scope[];
  /** Of its token. */
  token_name?: string;
  /** What its predictions are held to. Null: any. */
  priority: Priority | null;
  /** Whether it came with a session of the dashboard. */
  is_session?: boolean;
}

export interface RunnerCaller {
  token_id: string;
  /** SHA-256 of the token. Its runners' passes are bound to it. */
  token_hash: string;
  /** When the token was last confirmed valid, Unix ms: at most 10 s ago. */
  token_known_at: number;
  /** The runner that the pass names, and the pool of its session. Undefined without a pass. */
  runner_id: string | undefined;
  pool: string | undefined;
  /** The hardware classes that the token allows; none with a pass, by which nobody begins a session. */
  hardware: string[];
}
