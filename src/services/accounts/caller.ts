/** Who makes a request, once their token or session is known. */
import type { Principal } from "../../domain/accounts/access.ts";
import type { Scope } from "../../protocol/operator.ts";

/** Who asks with an access token, or a session, which is for all models. */
export interface Caller extends Principal {
  scopes: Scope[];
}

export interface RunnerCaller {
  token_id: string;
  /** When the token was last found good, unix ms: 10 s ago at most. */
  token_known_at: number;
  /** The hardware whose pools it may serve. */
  hardware: string[];
}
