/** A page or an action of the dashboard, as tables of tests describe it. */
import type { Role } from "../../../src/protocol/organization.ts";
import type { DashboardUser } from "./dashboard-users.ts";
import type { RouteParameters } from "./route-parameters.ts";

type Form = Record<string, string | File>;

export interface DashboardRoute {
  /** `each`: every signed-in user has their own. `owner`: only the owner of what the path names. */
  audience: "everybody" | "each" | "owner" | "operators";
  /** Creates the resource that the path names. */
  parameters?: (person: DashboardUser) => Promise<RouteParameters>;
  /** The lowest role in an organization whose route it is, by default `member`. */
  role?: Role;
  /** Creates a public resource instead: others may view it, but not change it. */
  publicParameters?: (person: DashboardUser) => Promise<RouteParameters>;
  form?: (place: RouteParameters, person: DashboardUser) => Form;
  /** The body of a request that only client code sends, in place of a form. */
  json?: (place: RouteParameters) => object;
  /** The status for its audience: by default 200 for a page, 303 for an action. */
  status?: number;
  /** The status without a session: by default 303 to the login for a page, 401 for an action. */
  anonymousStatus?: number;
  /** The route ends the session or account, so it gets a user of its own. */
  endsSession?: true;
  /** The action changes nothing that tests can see. */
  changesNothing?: true;
  /** Reads state that is not in the database. */
  readState?: (place: RouteParameters, person: DashboardUser) => Promise<unknown>;
}

export const operators: DashboardRoute = { audience: "operators" };
export const each: DashboardRoute = { audience: "each" };
