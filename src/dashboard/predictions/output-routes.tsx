/** `/predictions/{id}/output`: the output as a page and as files. */
import { z } from "zod";
import { partAt } from "../../domain/predictions/json-part.ts";
import { BEGIN, readCursor } from "../../domain/predictions/output-cursor.ts";
import { notFound } from "../../errors.ts";
import { integerText } from "../../protocol/common.ts";
import {
  type OutputOf,
  outputJson,
  outputTable,
  outputText,
  wholeOutput,
} from "../../services/predictions/output-files.ts";
import { readOutputPiece } from "../../services/predictions/output-piece.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { partAddress } from "../prediction-view/show-more.tsx";
import { OutputPage, OutputTextPage } from "./output-page.tsx";

const ADDRESS = "/predictions/:prediction_id/output";

/** Invalid parameters are ignored: people edit URLs by hand. */
const partQuery = z.object({
  at: z.string().max(10_000).default("").catch(""),
  from: integerText(0, 999_999_999).default(0).catch(0),
});

const outputOf = (c: PageContext): OutputOf => ({
  caller: viewerOf(c).caller,
  id: c.req.param("prediction_id") ?? "",
  origin: c.var.origin,
});

const LINES = ["list", "\n"] as const;

const TEXT = { "content-type": "text/plain; charset=utf-8" };
const JSON_TYPE = { "content-type": "application/json" };
const CSV = { "content-type": "text/csv; charset=utf-8" };

export const outputPages = pages()
  .get(ADDRESS, requireUser, async (c) => {
    const of = outputOf(c);
    const { at, from } = partQuery.parse(c.req.query());
    const whole = await wholeOutput(c.var.services, of);
    const value = whole === undefined ? undefined : partAt(whole, at);
    if (whole !== undefined && value === undefined) throw notFound("This part of the output");
    const part = value === undefined ? undefined : { at, value, from };
    const { host } = new URL(c.var.origin);
    return c.render(<OutputPage id={of.id} part={part} host={host} />, {
      title: "Output",
      scripts: ["output"],
    });
  })
  .get(`${ADDRESS}/part`, requireUser, async (c) => {
    const { caller, id } = outputOf(c);
    const { at: text = "", lines } = c.req.query();
    const at = readCursor(text) ?? BEGIN;
    const [display, between] = lines === undefined ? (["text", ""] as const) : LINES;
    const piece = await readOutputPiece(c.var.services, caller, id, { at, between });
    const next = piece.next && partAddress(id, piece.next, display);
    // Client code adds it to what it shows.
    if (!c.req.header("accept")?.includes("text/html")) return c.json({ text: piece.text, next });
    const page = (
      <OutputTextPage id={id} text={piece.text} lines={lines !== undefined} next={next} />
    );
    return c.render(page, { title: "Output", scripts: ["output"] });
  })
  .get(`${ADDRESS}.txt`, requireUser, async (c) => {
    const between = c.req.query("lines") === undefined ? "" : "\n";
    const text = await outputText(c.var.services, outputOf(c), between);
    return c.body(text.pipeThrough(new TextEncoderStream()), 200, TEXT);
  })
  .get(`${ADDRESS}.json`, requireUser, async (c) => {
    const json = await outputJson(c.var.services, outputOf(c));
    return c.body(json.pipeThrough(new TextEncoderStream()), 200, JSON_TYPE);
  })
  .get(`${ADDRESS}.csv`, requireUser, async (c) => {
    const table = await outputTable(c.var.services, outputOf(c));
    const body = typeof table === "string" ? table : table.pipeThrough(new TextEncoderStream());
    return c.body(body, 200, CSV);
  });
