/** `auspex predictions`: lists your own predictions, or shows one in full. */
import { z } from "zod";
import { priceText } from "../../domain/money/price.ts";
import { parseExact } from "../../lib/exact-json.ts";
import { readableJson } from "../../lib/text.ts";
import { pageOf } from "../../protocol/common.ts";
import { model as modelShape } from "../../protocol/model.ts";
import { amountOf } from "../../protocol/money.ts";
import {
  type Prediction,
  prediction,
  predictionWithIO,
  taskStatus,
} from "../../protocol/prediction.ts";
import {
  choice,
  limitOption,
  pagePath,
  predictionArgument,
  wholeModelArgument,
} from "../options.ts";
import { follow } from "../service/events.ts";
import { fullName } from "../service/service.ts";
import { type Host, newServiceCommand, openService, showList } from "../session.ts";
import { localTime, table } from "../ui/output.ts";

export const predictionsCommand = (host: Host) =>
  newServiceCommand("predictions", "List your predictions, or show one")
    .argument("[id]", "prediction ID", predictionArgument)
    .option("--model <model>", "only this model", wholeModelArgument)
    .option(
      "--status <status>",
      `only this status: ${taskStatus.options.join(", ")}`,
      choice(taskStatus.options),
    )
    .option("--limit <count>", "number of rows", limitOption, 25)
    .action(async (id, options) => {
      const session = await openService(host, options);
      const { service, output } = session;
      if (id !== undefined) {
        const one = await service.get(`/predictions/${id}`, predictionWithIO, parseExact);
        const { input, output: result } = one;
        const parts = [
          ["input", input],
          ["output", result],
        ] as const;
        const paid = costText(one);
        const rest = parts.map(([name, value]) => `${name}  ${readableJson(value)}`);
        return output.result(
          [table(HEAD, [rowOf(one)]), failureOf(one), paid && `cost  ${paid}`, ...rest]
            .filter(Boolean)
            .join("\n"),
          one,
        );
      }
      const model = options.model && (await fullName(service, options.model));
      const query = new URLSearchParams({
        ...(model && { model }),
        ...(options.status && { statuses: options.status }),
      });
      const path = `${pagePath("/predictions", options.limit)}&${query}`;
      const { items } = await service.get(path, pageOf(prediction));
      const shown = items.slice(0, options.limit);
      // Predictions of a deleted model still exist.
      if (model && shown.length === 0) await service.get(`/models/${model}`, modelShape);
      showList(session, { head: HEAD, rows: shown.map(rowOf), items: shown });
    });

const HEAD = ["ID", "MODEL", "STATUS", "CREATED", "SETUP", "RUN"];

const rowOf = ({ id, model, status, created_at, setup_time, execution_time }: Prediction) => [
  id,
  `${model.owner}/${model.name}:${model.version_number}`,
  status,
  localTime(created_at),
  seconds(setup_time),
  seconds(execution_time),
];

const seconds = (text: string | null): string => (text === null ? "" : `${text}s`);

const failureOf = ({ error }: Prediction): string =>
  error === null ? "" : `error (${error.source})  ${error.message}`;

/** Returns the cost of a run that had a price; otherwise an empty text. */
export const costText = ({ cost }: Pick<Prediction, "cost">): string =>
  cost && cost.parts.length > 0 ? priceText(amountOf(cost.amount) ?? 0, cost.currency) : "";

/** `auspex logs` ends when the stream is silent for one second. */
const IDLE_SECONDS = 1;

export const logsCommand = (host: Host) =>
  newServiceCommand("logs", "Show a prediction's logs")
    .argument("<id>", "prediction ID", predictionArgument)
    .option("-f, --follow", "keep printing until the prediction ends")
    .action(async (id, options) => {
      const { access, signal, output, onRetry } = await openService(host, options);
      const idleSeconds = options.follow ? undefined : IDLE_SECONDS;
      for await (const event of follow({ access, signal, id, onRetry, idleSeconds })) {
        const text =
          event.event === "setup" ? event.data.logs : event.event === "logs" && event.data;
        if (!text) continue;
        const source = event.event === "setup" ? "setup" : "model";
        output.write(output.json ? `${JSON.stringify({ source, text })}\n` : text);
      }
    });

export const cancelCommand = (host: Host) =>
  newServiceCommand("cancel", "Cancel a prediction")
    .argument("<id>", "prediction ID", predictionArgument)
    .action(async (id, options) => {
      const { service, output } = await openService(host, options);
      await service.post(`/predictions/${id}/cancel`, z.unknown());
      output.result(`Canceling ${id}.`, { id });
    });
