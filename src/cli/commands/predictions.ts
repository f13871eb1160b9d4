/** `auspex predictions`: your own, or one in full. */
import { parseExact } from "../../lib/exact-json.ts";
import { readableJson } from "../../lib/readable-json.ts";
import { pageOf } from "../../protocol/common.ts";
import { model as modelShape } from "../../protocol/model.ts";
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
import { table } from "../ui/output.ts";
import { type Host, newServiceCommand, openService, showList } from "./session.ts";

export const predictionsCommand = (host: Host) =>
  newServiceCommand("predictions", "List your predictions; with an id, show that one")
    .argument("[id]", "the prediction", predictionArgument)
    .option("--model <model>", "of this model only", wholeModelArgument)
    .option(
      "--status <status>",
      `of this status only: ${taskStatus.options.join(", ")}`,
      choice(taskStatus.options),
    )
    .option("--limit <count>", "how many", limitOption, 25)
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
        const rest = parts.map(([name, value]) => `${name}  ${readableJson(value)}`);
        return output.result(
          [table(HEAD, [rowOf(one)]), failureOf(one), ...rest].filter(Boolean).join("\n"),
          one,
        );
      }
      const query = new URLSearchParams({
        ...(options.model && { model: options.model }),
        ...(options.status && { statuses: options.status }),
      });
      const path = `${pagePath("/predictions", options.limit)}&${query}`;
      const { items } = await service.get(path, pageOf(prediction));
      const shown = items.slice(0, options.limit);
      // A model that was deleted has predictions all the same.
      if (options.model && shown.length === 0)
        await service.get(`/models/${options.model}`, modelShape);
      showList(session, { head: HEAD, rows: shown.map(rowOf), items: shown });
    });

const HEAD = ["ID", "MODEL", "STATUS", "CREATED", "SETUP", "RUN"];

const rowOf = ({ id, model, status, created_at, setup_time, execution_time }: Prediction) => [
  id,
  `${model.owner}/${model.name}:${model.version_number}`,
  status,
  created_at,
  seconds(setup_time),
  seconds(execution_time),
];

const seconds = (text: string | null): string => (text === null ? "" : `${text} s`);

const failureOf = ({ error }: Prediction): string =>
  error === null ? "" : `error (${error.source})  ${error.message}`;
