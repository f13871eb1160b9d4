/** The account, hardware and webhook secret of Replicate's API, and what this service does not have. */
import { Hono } from "hono";
import type { AppEnv } from "../../context.ts";
import { ProblemError } from "../../errors/errors.ts";
import { allowAnonymous, requireScope } from "../../middleware/authentication.ts";
import { ownerName } from "../../protocol/user.ts";
import { getOwnUser } from "../../services/accounts/users.ts";
import { databaseFor } from "../../services/models/public-reads.ts";
import { readWebhookSecret } from "../../services/replicate/predictions.ts";
import { listAllHardware } from "../../services/runners/hardware.ts";

const TRAININGS =
  "This service does not train models. Train elsewhere, and publish the result as a version: see /docs/publishing.";

const missing = (detail: string) => () => {
  throw new ProblemError("not_found", detail);
};

export const replicateAccountRoutes = new Hono<AppEnv>()
  .get("/account", requireScope("read", "predict"), async (c) => {
    const user = await getOwnUser(c.var.services, c.var.caller);
    const username = ownerName(user);
    const name = ("username" in user ? user.name : user.display_name) || username;
    return c.json({ type: "user", username, name, avatar_url: user.avatar_url });
  })
  .get("/hardware", allowAnonymous, async (c) => {
    const { services, caller } = c.var;
    const hardware = await listAllHardware(services, databaseFor(services, caller));
    return c.json(hardware.map(({ identifier, name }) => ({ sku: identifier, name })));
  })
  .get("/webhooks/default/secret", requireScope("predict"), async (c) =>
    c.json({ key: await readWebhookSecret(c.var.services, c.var.caller) }),
  )
  .all("/trainings", missing(TRAININGS))
  .all("/trainings/*", missing(TRAININGS))
  .all("/models/:owner/:name/versions/:version/trainings", missing(TRAININGS));
