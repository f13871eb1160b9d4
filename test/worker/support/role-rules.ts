/** The statuses of endpoints for tokens of organizations, by the role of their makers. */
import { ROLES, type Role } from "../../../src/protocol/organization.ts";
import type { EndpointAccess } from "./endpoint-access.ts";

interface RoleRule {
  endpoints: RegExp;
  /** The lowest role that may call them. Null: tokens of an organization may not. */
  least: Role | null;
  /** The status for other roles. */
  refused: 403 | 404;
  /** The status for those that may, where the owner of an account gets another. */
  status?: number;
}

/** The roles that may call each endpoint, for what another maker of the organization has made. The first rule counts. */
const ROLE_RULES: RoleRule[] = [
  // The signature replaces the token.
  { endpoints: /\/parts\//, least: "member", refused: 403 },
  {
    endpoints: /:(?:prediction|upload|source|response|conversation)_id/,
    ...{ least: "developer", refused: 404 },
  },
  { endpoints: /collaborators/, least: "admin", refused: 403 },
  {
    endpoints: /webhook-endpoints|user\/usage$|\/variables|^POST \/v1\/models$/,
    ...{ least: "developer", refused: 403 },
  },
  {
    endpoints: /^(?:POST|PATCH|DELETE) \/v1\/deployments(?!.*predictions)/,
    ...{ least: "developer", refused: 403 },
  },
  { endpoints: /^POST \/v1\/(?:user\/)?organizations$/, least: null, refused: 403 },
  { endpoints: /^PATCH \/v1\/user$|\/export$|\/audit_events/, least: "admin", refused: 403 },
  { endpoints: /^(?:POST|PATCH|DELETE) \/v1\/budgets/, least: "admin", refused: 403 },
  { endpoints: /^PUT .*\/members/, least: "owner", refused: 403 },
  { endpoints: /^DELETE .*\/members/, least: "admin", refused: 403, status: 200 },
  { endpoints: /\/invitations|^PATCH .*:organization$/, least: "admin", refused: 403 },
  { endpoints: /^DELETE .*:organization$/, least: "owner", refused: 403 },
  { endpoints: /\/v1\/organizations|^GET|\/predictions$/, least: "member", refused: 403 },
  { endpoints: /:model_name/, least: "developer", refused: 403 },
  { endpoints: /./, least: "member", refused: 403 },
];

/** Returns the status of an endpoint for a token of an organization with this role. */
export function statusFor(role: Role, key: string, { hidden }: EndpointAccess): number {
  const rule = ROLE_RULES.find(({ endpoints }) => endpoints.test(key));
  if (!rule?.least || ROLES.indexOf(role) < ROLES.indexOf(rule.least)) return rule?.refused ?? 0;
  return rule.status ?? hidden[2];
}
