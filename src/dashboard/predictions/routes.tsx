/** `/predictions`: the list of your predictions, each with its view, stream and actions. */
import { ValidationFailure } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import { limitRate } from "../../middleware/rate-limit.ts";
import { afterOf, eventStream } from "../../routes/predictions/event-stream.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";
import { AS_OPERATOR, asCaller, explainPrediction } from "../../services/predictions/explain.ts";
import { outputJson, outputText, readLogFile } from "../../services/predictions/output-files.ts";
import {
  retryPrediction,
  viewPrediction,
  viewPredictions,
} from "../../services/predictions/prediction-view.ts";
import {
  cancelPrediction,
  getPrediction,
  removePrediction,
  streamPrediction,
} from "../../services/predictions/predictions.ts";
import { readShares } from "../../services/shares/shares.ts";
import { listWebhooks, redeliver } from "../../services/webhooks/deliveries.ts";
import { pageReader, requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { fieldText, readForm } from "../form.ts";
import { PredictionPanel, Why } from "../prediction-view/view.tsx";
import { fragment } from "../ui/layout.tsx";
import { shortId } from "../ui/parts.tsx";
import { readListQuery } from "./filters.ts";
import { PredictionsPage } from "./list.tsx";
import { PredictionPage } from "./page.tsx";

const ONE = "/predictions/:prediction_id";

/** Then the browser reconnects by itself, which checks the session again. */
const STREAM_SECONDS = 300;

export const predictionPages = pages()
  .get("/predictions", requireUser, async (c) => {
    const listQuery = readListQuery(new URL(c.req.url));
    if (!listQuery) throw badPage();
    const page =
      Object.keys(listQuery.issues).length > 0
        ? undefined
        : await viewPredictions(c.var.services, viewerOf(c).caller, listQuery.query, {
            cursor: listQuery.query.cursor,
            size: listQuery.query.page_size,
            url: c.req.url,
          }).catch(throwBadPage);
    // New predictions appear on the first page only, so it has one address.
    if (listQuery.query.cursor !== undefined && page?.previous_cursor === null)
      return c.redirect(firstPage(c.req.url), 303);
    return c.render(<PredictionsPage listQuery={listQuery} page={page} />, {
      title: "Predictions",
      scripts: ["predictions"],
    });
  })
  .get(ONE, requireUser, async (c) => {
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    const { prediction_id: id } = c.req.param();
    const [view, { items }, shares] = await Promise.all([
      viewPrediction(services, caller, id, origin, { viewer: explainedTo(c) }),
      listWebhooks(services, caller, id),
      readShares(services, caller, id),
    ]);
    const { owner, name } = view.prediction.model;
    const { host } = new URL(origin);
    return c.render(<PredictionPage view={view} webhooks={items} shares={shares} host={host} />, {
      title: `Prediction ${shortId(id)} of ${view.model ?? `${owner}/${name}`}`,
      scripts: ["prediction"],
    });
  })
  .get(`${ONE}/view`, requireUser, async (c) => {
    const { services, origin } = c.var;
    const view = await viewPrediction(
      services,
      viewerOf(c).caller,
      c.req.param("prediction_id"),
      origin,
      { viewer: explainedTo(c) },
    );
    return fragment(c, <PredictionPanel view={view} host={new URL(origin).host} />);
  })
  .get(`${ONE}/why`, requireUser, async (c) => {
    const { caller } = viewerOf(c);
    const { prediction_id: id } = c.req.param();
    const explanation = await explainPrediction(c.var.services, caller, id, explainedTo(c));
    return fragment(c, <Why explanation={explanation} />);
  })
  .get(`${ONE}/events`, requireUser, async (c) => {
    const after = afterOf(c.req.header("last-event-id"), c.req.query("after_id"));
    const { services } = c.var;
    const { caller } = viewerOf(c);
    const id = c.req.param("prediction_id");
    const options = { after, lifetime_seconds: STREAM_SECONDS, reader: pageReader(c) };
    return eventStream(await streamPrediction(services, caller, id, options), undefined);
  })
  .get(`${ONE}/json`, requireUser, async (c) => {
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    const { text } = await getPrediction(services, caller, c.req.param("prediction_id"), origin);
    return c.body(text, 200, { "content-type": "application/json" });
  })
  .get(`${ONE}/logs.txt`, requireUser, async (c) => {
    const { prediction_id: id } = c.req.param();
    return c.body(await readLogFile(c.var.services, viewerOf(c).caller, id), 200, {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="${id}.log.txt"`,
    });
  })
  .post(`${ONE}/cancel`, requireUser, async (c) => {
    const { prediction_id: id } = c.req.param();
    await cancelPrediction(c.var.services, viewerOf(c).caller, id);
    return redirectToPrediction(c, "Canceling the prediction.", id);
  })
  .post(`${ONE}/retry`, requireUser, async (c) => {
    const { caller } = viewerOf(c);
    await limitRate(c, "predictions", caller.user_id);
    const { services, origin } = c.var;
    const id = await retryPrediction(services, caller, c.req.param("prediction_id"), origin).catch(
      throwConflict,
    );
    return redirectToPrediction(c, "Started a new prediction with the same input.", id);
  })
  .post(`${ONE}/delete`, requireUser, async (c) => {
    const { prediction_id: id } = c.req.param();
    await removePrediction(c.var.services, viewerOf(c).caller, id);
    return redirectToPrediction(c, "Input, output, logs and files removed.", id);
  })
  .post(`${ONE}/webhooks/:event_id/redeliver`, requireUser, async (c) => {
    const { caller } = viewerOf(c);
    await limitRate(c, "predictions", caller.user_id);
    const { prediction_id: id, event_id } = c.req.param();
    const form = await readForm(c);
    const receiver = fieldText(form, "receiver");
    const endpointId = receiver === OWN_WEBHOOK ? null : receiver || undefined;
    await redeliver(c.var.services, caller, id, event_id, endpointId);
    const message = "Redelivering the event.";
    return fieldText(form, "back") === "event"
      ? redirectWithFlash(c, message, `/predictions/${id}/webhooks/${event_id}`)
      : redirectToPrediction(c, message, id);
  });

const redirectToPrediction = (c: PageContext, message: string, id: string) =>
  c.req.header("accept")?.includes("text/html")
    ? redirectWithFlash(c, message, `/predictions/${id}`)
    : c.json({ id });

function firstPage(address: string): string {
  const { pathname, searchParams } = new URL(address);
  searchParams.delete("cursor");
  return `${pathname}?${searchParams}`;
}

const badPage = () =>
  new ProblemError("bad_request", "This page of the list does not exist. Start at /predictions.");

function throwBadPage(error: unknown): never {
  throw error instanceof ValidationFailure ? badPage() : error;
}

/** The input was valid once, but names a file that is gone. */
function throwConflict(error: unknown): never {
  if (!(error instanceof ValidationFailure)) throw error;
  throw new ProblemError(
    "conflict",
    `This prediction cannot run again with the same input. ${error.message}`,
  );
}

/** Returns which names the viewer may see in an explanation. */
function explainedTo(c: PageContext) {
  const { operator, caller } = viewerOf(c);
  return operator ? AS_OPERATOR : asCaller(caller);
}

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
