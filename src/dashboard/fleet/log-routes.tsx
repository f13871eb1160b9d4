/** `/fleet/runners/:id/log`: asks a runner for its log, and shows it. */
import { askForRunnerLog, readRunnerLog } from "../../services/runners/runner-log.ts";
import { requireOperator } from "../access.ts";
import { pages } from "../context.ts";
import { readLogQuery } from "../predictions/log-query.ts";
import { LogPage, logText } from "./log-page.tsx";

const LOG = "/fleet/runners/:id/log";

export const runnerLogPages = pages()
  .get(LOG, requireOperator, async (c) => {
    const read = await readRunnerLog(c.var.services, c.req.param("id"));
    const page = <LogPage {...read} query={readLogQuery(c)} now={Date.now()} />;
    return c.render(page, { title: `Log of ${read.runner.name}`, scripts: ["fleet"] });
  })
  .get(`${LOG}.txt`, requireOperator, async (c) => {
    const { log } = await readRunnerLog(c.var.services, c.req.param("id"));
    return c.body(logText(log?.lines ?? []), 200, {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="${c.req.param("id")}.log.txt"`,
    });
  })
  .post(LOG, requireOperator, async (c) => {
    const id = c.req.param("id");
    await askForRunnerLog(c.var.services, id);
    return c.redirect(`/fleet/runners/${id}/log`, 303);
  });
