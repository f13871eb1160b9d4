/** `/fleet`, for operators: runners, queues, and the actions on a runner. */
import { isResponding } from "../../domain/runners/silence.ts";
import { readDatabaseSpace } from "../../services/access/storage-quota.ts";
import { hasKey } from "../../services/backups/manifest.ts";
import { modelsSeenBy } from "../../services/models/models.ts";
import { listOwnPredictions } from "../../services/predictions/predictions.ts";
import { drainRunner, readFleet, removeRunner } from "../../services/runners/fleet.ts";
import { ANSWER_MS, readRunner } from "../../services/runners/runner-detail.ts";
import {
  askForRunnerLog,
  historyOf,
  readRunnerLog,
  withSilence,
} from "../../services/runners/runner-history.ts";
import { withTimeout } from "../../services/with-timeout.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { fieldText, readForm } from "../form.ts";
import { modelsIn } from "./containers.tsx";
import { hardwarePages } from "./hardware.tsx";
import { LogPage, logText } from "./log-page.tsx";
import { FleetPage } from "./page.tsx";
import { OWN_PAGE } from "./runner.tsx";
import { RunnerPage } from "./runner-page.tsx";
import { runnerTokenPages } from "./token-routes.tsx";

/** The viewer's newest unfinished predictions, which are linked. */
const MAX_LINKED = 50;

const LOG = "/fleet/runners/:id/log";

export const fleetPages = pages()
  .get("/fleet", requireOperator, async (c) => {
    const [fleet, own, space] = await Promise.all([
      readFleet(c.var.services),
      ownActivePredictions(c),
      readDatabaseSpace(c.var.services),
    ]);
    const view = { origin: c.var.origin, latest: c.var.assets.runner, own, now: Date.now() };
    const hasBackups = hasKey(c.var.services);
    return c.render(<FleetPage {...fleet} view={view} hasBackups={hasBackups} space={space} />, {
      title: "Fleet",
      scripts: ["fleet"],
    });
  })
  .get("/fleet/runners/:id", requireOperator, async (c) => {
    const id = c.req.param("id");
    const [runner, history, own] = await Promise.all([
      readRunner(c.var.services, id),
      withTimeout(historyOf(c.var.services, id), `runner ${id}`, ANSWER_MS),
      ownActivePredictions(c),
    ]);
    const view = { origin: c.var.origin, latest: c.var.assets.runner, own, now: Date.now() };
    const { id: viewerId } = viewerOf(c).user;
    const linked = await modelsSeenBy(c.var.services, viewerId, modelsIn(runner.reported));
    const events = history && withSilence(history.events, runner, view.now);
    const shown = { runner, day: history?.day ?? null, events, linked, view };
    return c.render(<RunnerPage {...shown} />, { title: runner.name, scripts: ["fleet"] });
  })
  .post("/fleet/runners/:id/drain", requireOperator, async (c) => {
    const runner = await drainRunner(c.var.services, c.req.param("id"), true, viewerOf(c).user.id);
    const message = isResponding(runner, Date.now())
      ? `${runner.name} takes no more work. What it runs will finish.`
      : `${runner.name} is not heard from. It gets no more work; what it had runs again elsewhere, or fails.`;
    return redirectWithFlash(c, message, await returnAddress(c));
  })
  .post("/fleet/runners/:id/resume", requireOperator, async (c) => {
    const runner = await drainRunner(c.var.services, c.req.param("id"), false, viewerOf(c).user.id);
    const message = isResponding(runner, Date.now())
      ? `${runner.name} will take work again shortly.`
      : `${runner.name} is not heard from. It takes work again once it is.`;
    return redirectWithFlash(c, message, await returnAddress(c));
  })
  .post("/fleet/runners/:id/remove", requireOperator, async (c) => {
    await removeRunner(c.var.services, c.req.param("id"));
    return redirectWithFlash(c, "Runner removed.", "/fleet");
  })
  .get(LOG, requireOperator, async (c) => {
    const read = await readRunnerLog(c.var.services, c.req.param("id"));
    const page = <LogPage {...read} now={Date.now()} />;
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

/** Returns the address of the page that the form was sent from. */
const returnAddress = async (c: PageContext): Promise<string> =>
  fieldText(await readForm(c), "from") === OWN_PAGE
    ? `/fleet/runners/${c.req.param("id")}`
    : "/fleet";

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
