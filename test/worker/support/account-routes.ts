/** The pages and actions of access tokens, organizations and budgets, as the table of all pages has them. */
import { type DashboardRoute, each, operators } from "./dashboard-route.ts";
import {
  newBudgetOfUser,
  newBudgetPlace,
  newOrganizationInvitation,
  newOrganizationPlace,
  newOrganizationToken,
  newToken,
  newUserPlace,
  noBudget,
  TOKEN,
} from "./route-parameters.ts";
import { unique } from "./world.ts";

const ownOrganization: DashboardRoute = { audience: "owner", parameters: newOrganizationPlace };

export const TOKEN_ROUTES: Record<string, DashboardRoute> = {
  "GET /tokens": each,
  "POST /tokens": { ...each, status: 200, form: () => TOKEN },
  "GET /tokens/:id": { audience: "owner", parameters: newToken },
  "POST /tokens/:id": {
    audience: "owner",
    parameters: newToken,
    form: () => ({ max_running: "5" }),
  },
  "POST /tokens/:id/revoke": { audience: "owner", parameters: newToken },
};

export const ORGANIZATION_PAGES: Record<string, DashboardRoute> = {
  "GET /organizations": each,
  "POST /organizations": { ...each, form: () => ({ username: unique("org"), name: "" }) },
  "GET /organizations/:organization": ownOrganization,
  "GET /organizations/:organization/members": ownOrganization,
  "POST /organizations/:organization/members/:username": {
    ...ownOrganization,
    role: "admin",
    form: () => ({ role: "admin" }),
  },
  "POST /organizations/:organization/members/:username/remove": {
    ...ownOrganization,
    role: "admin",
  },
  "POST /organizations/:organization/invitations": {
    ...ownOrganization,
    role: "admin",
    status: 200,
    form: () => ({ role: "developer", note: "for Grace" }),
  },
  "POST /organizations/:organization/invitations/:id/revoke": {
    ...ownOrganization,
    role: "admin",
    parameters: newOrganizationInvitation,
  },
  // The owner of the table has no second factor.
  "POST /organizations/:organization/second-factor": {
    ...ownOrganization,
    role: "admin",
    status: 403,
    form: () => ({ required: "yes" }),
  },
  "GET /organizations/:organization/tokens": ownOrganization,
  "POST /organizations/:organization/tokens": {
    ...ownOrganization,
    status: 200,
    form: () => TOKEN,
  },
  "GET /organizations/:organization/tokens/:id": {
    ...ownOrganization,
    role: "admin",
    parameters: newOrganizationToken,
  },
  "POST /organizations/:organization/tokens/:id": {
    ...ownOrganization,
    role: "admin",
    parameters: newOrganizationToken,
    form: () => ({ max_running: "5" }),
  },
  "POST /organizations/:organization/tokens/:id/revoke": {
    ...ownOrganization,
    role: "admin",
    parameters: newOrganizationToken,
  },
  "GET /organizations/:organization/delete": { ...ownOrganization, role: "owner" },
  "POST /organizations/:organization/delete": {
    ...ownOrganization,
    role: "owner",
    form: ({ organization = "" }) => ({ confirm: organization }),
  },
};

const BUDGETS = "/account/budgets";
const USER_BUDGETS = "/users/:username/budgets";
/** A budget of the account: members see it, and admins change it. */
const ownBudget: DashboardRoute = { audience: "owner", parameters: newBudgetPlace };
const userBudget: DashboardRoute = { ...operators, parameters: newBudgetOfUser };
const changed = () => ({ limit: "6", kind: "alert", alert_at: "50" });
const created = () => ({ limit: "5", window: "day", kind: "hard", alert_at: "80" });

export const BUDGET_ROUTES: Record<string, DashboardRoute> = {
  [`GET ${BUDGETS}/new`]: each,
  // A member makes one for themselves.
  [`POST ${BUDGETS}`]: { ...each, parameters: noBudget, form: created },
  [`GET ${BUDGETS}/:id`]: ownBudget,
  [`POST ${BUDGETS}/:id`]: { ...ownBudget, role: "admin", form: changed },
  [`POST ${BUDGETS}/:id/delete`]: { ...ownBudget, role: "admin" },
  [`GET ${USER_BUDGETS}/new`]: { ...operators, parameters: newUserPlace },
  [`POST ${USER_BUDGETS}`]: { ...operators, parameters: newUserPlace, form: created },
  [`GET ${USER_BUDGETS}/:id`]: userBudget,
  [`POST ${USER_BUDGETS}/:id`]: { ...userBudget, form: changed },
  [`POST ${USER_BUDGETS}/:id/delete`]: userBudget,
};
