/** `/fleet/runners/:id/log`: asks a runner for its log, and shows it. */
import { askForRunnerLog, readRunnerLog } from "../../services/runners/runner-log.ts";
import { requireOperator } from "../access.ts";
import { pages } from "../context.ts";
import { fieldText, readForm } from "../form.ts";
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
    const page = new URL(pageOf(c.req.param("id")), c.var.origin).href;
    return c.body(logText(log?.lines, page), 200, {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="${c.req.param("id")}.log.txt"`,
    });
  })
  .post(LOG, requireOperator, async (c) => {
    const id = c.req.param("id");
    const form = await readForm(c);
    await askForRunnerLog(c.var.services, id);
    const lookedFor = ["find", "level"].map((name) => [name, fieldText(form, name)]);
    const query = new URLSearchParams(lookedFor.filter(([, text]) => text !== ""));
    return c.redirect(`${pageOf(id)}${query.size > 0 ? `?${query}` : ""}`, 303);
  });

const pageOf = (id: string) => `/fleet/runners/${id}/log`;
