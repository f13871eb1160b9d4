/** `/fleet`, for operators: runners, queues, and the actions on a runner. */
import { z } from "zod";
import { isResponding } from "../../domain/runners/silence.ts";
import { readDatabaseSpace } from "../../services/access/storage-quota.ts";
import { hasKey } from "../../services/backups/manifest.ts";
import { modelsSeenBy } from "../../services/models/models.ts";
import { listOwnPredictions } from "../../services/predictions/predictions.ts";
import { drainRunner, readFleet, removeRunner, wantedOf } from "../../services/runners/fleet.ts";
import { ANSWER_MS, readDetails, readRunner } from "../../services/runners/runner-detail.ts";
import {
  askForRunnerLog,
  historyOf,
  readDays,
  readRunnerLog,
  withSilence,
} from "../../services/runners/runner-history.ts";
import { withTimeout } from "../../services/with-timeout.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { modelsIn } from "./containers.tsx";
import { SORTS } from "./gpus.tsx";
import { hardwarePages } from "./hardware.tsx";
import { LogPage, logText } from "./log-page.tsx";
import { FleetPage, shownRows } from "./page.tsx";
import { RunnerPage } from "./runner-page.tsx";
import { runnerTokenPages } from "./token-routes.tsx";

/** The viewer's newest unfinished predictions, which are linked. */
const MAX_LINKED = 50;

const LOG = "/fleet/runners/:id/log";

export const fleetPages = pages()
  .get("/fleet", requireOperator, async (c) => {
    const { services } = c.var;
    const [{ pools, complete }, space] = await Promise.all([
      readFleet(services),
      readDatabaseSpace(services),
    ]);
    const runners = await readDetails(
      services,
      pools.flatMap((pool) => pool.runners),
    );
    const view = { origin: c.var.origin, latest: c.var.assets.runner, now: Date.now() };
    const { sort, page } = listed.parse(c.req.query());
    const { rows } = shownRows(runners, sort, page - 1, view.now);
    const days = await readDays(services, [...new Set(rows.map(({ runner }) => runner.id))]);
    const shown = { pools, runners, complete, days, sort, page: page - 1, view };
    return c.render(<FleetPage {...shown} hasBackups={hasKey(services)} space={space} />, {
      title: "Fleet",
      scripts: ["fleet"],
    });
  })
  .get("/fleet/runners/:id", requireOperator, async (c) => {
    const id = c.req.param("id");
    const { services } = c.var;
    const [runner, history, own] = await Promise.all([
      readRunner(services, id),
      withTimeout(historyOf(services, id), `runner ${id}`, ANSWER_MS),
      ownActivePredictions(c),
    ]);
    const view = { origin: c.var.origin, latest: c.var.assets.runner, own, now: Date.now() };
    const { id: viewerId } = viewerOf(c).user;
    const [linked, wanted] = await Promise.all([
      modelsSeenBy(services, viewerId, modelsIn(runner.reported)),
      wantedOf(services, runner, view.now),
    ]);
    const events = history && withSilence(history.events, runner, view.now);
    const shown = { runner, day: history?.day ?? null, events, linked, wanted, view };
    return c.render(<RunnerPage {...shown} />, { title: runner.name, scripts: ["fleet"] });
  })
  .post("/fleet/runners/:id/drain", requireOperator, async (c) => {
    const runner = await drainRunner(c.var.services, c.req.param("id"), true, viewerOf(c).user.id);
    const message = isResponding(runner, Date.now())
      ? `Draining ${runner.name}. Running predictions will finish.`
      : `${runner.name} is offline. It will get no new work when it reconnects.`;
    return redirectWithFlash(c, message, `/fleet/runners/${runner.id}`);
  })
  .post("/fleet/runners/:id/resume", requireOperator, async (c) => {
    const runner = await drainRunner(c.var.services, c.req.param("id"), false, viewerOf(c).user.id);
    const message = isResponding(runner, Date.now())
      ? `${runner.name} resumed.`
      : `${runner.name} resumed. It is offline and will accept work when it reconnects.`;
    return redirectWithFlash(c, message, `/fleet/runners/${runner.id}`);
  })
  .post("/fleet/runners/:id/remove", requireOperator, async (c) => {
    await removeRunner(c.var.services, c.req.param("id"));
    return redirectWithFlash(c, "Runner removed.", "/fleet");
  })
  .get(LOG, requireOperator, async (c) => {
    const read = await readRunnerLog(c.var.services, c.req.param("id"));
    const now = Date.now();
    const wanted = await wantedOf(c.var.services, read.runner, now);
    const page = <LogPage {...read} wanted={wanted} now={now} />;
    return c.render(page, { title: `Log of ${read.runner.name}`, scripts: ["fleet"] });
  })
  .get(`${LOG}.txt`, requireOperator, async (c) => {
    const { log } = await readRunnerLog(c.var.services, c.req.param("id"));
    const page = new URL(logAddress(c.req.param("id")), c.var.origin).href;
    return c.body(logText(log?.lines, page), 200, {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="${c.req.param("id")}.log.txt"`,
    });
  })
  .post(LOG, requireOperator, async (c) => {
    const id = c.req.param("id");
    await askForRunnerLog(c.var.services, id);
    return c.redirect(logAddress(id), 303);
  })
  .route("/", runnerTokenPages)
  .route("/", hardwarePages);

const listed = z.object({
  sort: z.enum(SORTS).catch("idle"),
  page: z.coerce.number().int().min(1).max(1_000).catch(1),
});

async function ownActivePredictions(c: PageContext): Promise<ReadonlySet<string>> {
  const { items } = await listOwnPredictions(
    c.var.services,
    viewerOf(c).caller,
    { statuses: ["pending", "started"], page_size: MAX_LINKED },
    { cursor: undefined, size: MAX_LINKED, url: c.req.url },
  );
  return new Set(items.map(({ id }) => id));
}

const logAddress = (id: string) => `/fleet/runners/${id}/log`;
