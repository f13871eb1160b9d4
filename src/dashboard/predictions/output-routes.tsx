/** `/predictions/{id}/output.txt` and `.json`: the whole output as a file. */
import { outputJson, outputText } from "../../services/predictions/output-files.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";

const ADDRESS = "/predictions/:prediction_id/output";

const TEXT = { "content-type": "text/plain; charset=utf-8" };
const JSON_TYPE = { "content-type": "application/json" };

const outputOf = (c: PageContext) => ({
  caller: viewerOf(c).caller,
  id: c.req.param("prediction_id") ?? "",
});

export const outputPages = pages()
  .get(`${ADDRESS}.txt`, requireUser, async (c) => {
    const between = c.req.query("lines") === undefined ? "" : "\n";
    return c.body(await outputText(c.var.services, outputOf(c), between), 200, TEXT);
  })
  .get(`${ADDRESS}.json`, requireUser, async (c) =>
    c.body(await outputJson(c.var.services, outputOf(c)), 200, JSON_TYPE),
  );
