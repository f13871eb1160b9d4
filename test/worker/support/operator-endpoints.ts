/** The endpoints of operators, as the table of permissions has those of users. */
import type { EndpointAccess } from "./endpoint-access.ts";
import { unique } from "./world.ts";

/** Endpoints for operators only, with the operator's status where a call is refused for another reason. */
export const OPERATOR_ENDPOINTS: Record<
  string,
  Pick<EndpointAccess, "body"> & { status?: number }
> = {
  "POST /v1/operator/organizations": {
    body: ({ lead }) => ({ username: unique("org"), owner: lead }),
  },
  "PUT /v1/operator/organizations/:organization/owners/:username": {},
  "POST /v1/operator/users": { body: () => ({ username: unique("user") }) },
  "DELETE /v1/operator/usernames/:username": {},
  "PUT /v1/operator/users/:username/suspension": {},
  "DELETE /v1/operator/users/:username/suspension": {},
  "PUT /v1/operator/users/:username/operator": {},
  "DELETE /v1/operator/users/:username/operator": {},
  "GET /v1/operator/users/:username/tokens": {},
  "GET /v1/operator/users/:username/predictions/:prediction_id": {},
  "GET /v1/operator/users/:username/predictions/:prediction_id/explain": {},
  "GET /v1/operator/predictions/:prediction_id": {},
  "GET /v1/operator/users/:username/budgets": {},
  "POST /v1/operator/users/:username/budgets": {
    body: () => ({ limit: "1000000", window: "day" }),
  },
  "PATCH /v1/operator/users/:username/budgets/:budget_id": { body: () => ({ limit: "2000000" }) },
  "DELETE /v1/operator/users/:username/budgets/:budget_id": {},
  "POST /v1/operator/users/:username/tokens": { body: () => ({ name: "laptop" }) },
  "PATCH /v1/operator/tokens/:token_id": { body: () => ({ limits: { max_running: 1 } }) },
  "DELETE /v1/operator/tokens/:token_id": {},
  "GET /v1/operator/runner_tokens": {},
  "POST /v1/operator/runner_tokens": { body: () => ({ name: "rack", hardware: ["cpu"] }) },
  "DELETE /v1/operator/runner_tokens/:token_id": {},
  "PUT /v1/operator/categories/:slug": { body: () => ({ name: "Weather" }) },
  "DELETE /v1/operator/categories/:slug": {},
  "PUT /v1/operator/hardware/:identifier": { body: () => ({ name: "Box" }) },
  "GET /v1/operator/users/:username/capacity": {},
  "PUT /v1/operator/users/:username/capacity/:identifier": { body: () => ({ instances: 2 }) },
  "DELETE /v1/operator/hardware/:identifier": {},
  "PUT /v1/operator/models/:model_owner/:model_name/versions/:version_number/prices": {
    body: () => ({ prices: { per_run: 1 } }),
  },
  "GET /v1/operator/runners": {},
  "GET /v1/operator/runners/:runner_id": {},
  "GET /v1/operator/runners/:runner_id/history": {},
  "GET /v1/operator/runners/:runner_id/events": {},
  "GET /v1/operator/runners/:runner_id/log": {},
  "POST /v1/operator/runners/:runner_id/log": {},
  "POST /v1/operator/runners/:runner_id/:action": { body: () => ({}) },
  "DELETE /v1/operator/runners/:runner_id": {},
  "GET /v1/operator/queues": {},
  "GET /v1/operator/alerts": {},
  // With STATUS = "public": test/worker/alerts/status.test.ts.
  "GET /v1/status": {},
  "POST /v1/operator/alerts/:alert_id/silence": { body: () => ({ hours: 1 }) },
  "GET /v1/operator/usage": {},
  "GET /v1/operator/audit_events": {},
  "GET /v1/operator/audit_events/verify": {},
  "GET /v1/operator/audit_events/export": {},
  "GET /v1/operator/backups": {},
  "POST /v1/operator/backups": {},
  "GET /v1/operator/backups/:backup_id/parts/:part_number": {},
  // The part belongs to no backup, and the deployment is not empty.
  "PUT /v1/operator/backups/:backup_id/parts/:part_number": { body: () => ({}), status: 409 },
  "POST /v1/operator/backups/:backup_id/restore": { status: 409 },
};
