/** `/fleet`: the runners and what waits for them; what an operator does with a runner. */

import { listOwnPredictions } from "../../services/predictions/predictions.ts";
import { drainRunner, readFleet, removeRunner } from "../../services/runners/fleet.ts";
import { operatorsOnly, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { done } from "../flash.ts";
import { hardwarePages } from "./hardware-routes.tsx";
import { FleetPage } from "./page.tsx";
import { runnerTokenPages } from "./token-routes.tsx";

/** Of one's own predictions that are under way so many can be links, the newest. */
const LINKED = 50;

export const fleetPages = pages()
  .get("/fleet", operatorsOnly, async (c) => {
    const [fleet, own] = await Promise.all([readFleet(c.var.services), ownUnderWay(c)]);
    const view = { origin: c.var.origin, latest: c.var.assets.runner, own, now: Date.now() };
    return c.render(<FleetPage {...fleet} view={view} />, {
      title: "Fleet",
      scripts: ["fleet"],
    });
  })
  .post("/fleet/runners/:id/drain", operatorsOnly, async (c) => {
    const { name } = await drainRunner(c.var.services, c.req.param("id"), true);
    const words = `${name} is draining. Its running predictions will finish.`;
    return done(c, words, "/fleet");
  })
  .post("/fleet/runners/:id/resume", operatorsOnly, async (c) => {
    const { name } = await drainRunner(c.var.services, c.req.param("id"), false);
    return done(c, `${name} will take work again shortly.`, "/fleet");
  })
  .post("/fleet/runners/:id/remove", operatorsOnly, async (c) => {
    await removeRunner(c.var.services, c.req.param("id"));
    return done(c, "Runner removed.", "/fleet");
  })
  .route("/", runnerTokenPages)
  .route("/", hardwarePages);

async function ownUnderWay(c: PageContext): Promise<ReadonlySet<string>> {
  const { items } = await listOwnPredictions(
    c.var.services,
    viewerOf(c).caller,
    { statuses: ["pending", "started"], page_size: LINKED },
    { cursor: undefined, size: LINKED, url: c.req.url },
  );
  return new Set(items.map(({ id }) => id));
}
