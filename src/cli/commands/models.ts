/** `auspex models`: lists the models of an account, and deletes one. */

import { pageOf, slug } from "../../protocol/common.ts";
import { type Model, modelItem, model as modelShape } from "../../protocol/model.ts";
import { ownerName } from "../../protocol/user.ts";
import { Misuse } from "../failure.ts";
import { limitOption, pagePath, wholeModelArgument } from "../options.ts";
import { confirmed } from "../ui/output.ts";
import { type Host, newServiceCommand, openService, showList } from "./session.ts";

export const modelsCommand = (host: Host) =>
  newServiceCommand("models", "List your models or another account's, or delete one")
    .argument("[owner]")
    .option("--limit <count>", "how many", limitOption, 25)
    .action(async (owner, options) => {
      if (owner !== undefined && !slug.safeParse(owner).success)
        throw new Misuse(`“${owner}” is no account's name.`);
      const session = await openService(host, options);
      const path = owner === undefined ? "/user/models" : `/models/${owner}`;
      const { items } = await session.service.get(pagePath(path, options.limit), pageOf(modelItem));
      const shown = items.slice(0, options.limit);
      const rows = shown.map((one) => [
        `${ownerName(one.owner)}/${one.name}`,
        one.visibility,
        String(one.predictions_count),
        one.description,
      ]);
      const head = ["MODEL", "VISIBILITY", "RUNS", "DESCRIPTION"];
      showList(session, { head, rows, items: shown });
    })
    .addCommand(deleteModelCommand(host));

const deleteModelCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a model, with its versions, images and variables")
    .argument("<model>", "owner/name", wholeModelArgument)
    .option("-y, --yes", "do not ask")
    .action(async (model, options) => {
      const { service, output } = await openService(host, options);
      const path = `/models/${model}`;
      await confirmed(options, async () => questionOf(model, await service.get(path, modelShape)));
      await service.delete(path);
      output.result(`Deleted ${model}.`, { model });
    });

const questionOf = (name: string, { visibility, predictions_count, latest_version }: Model) =>
  `Delete ${name} (${visibility}, ${predictions_count} runs${latest_version ? `, version ${latest_version.number}` : ", no version"}), with its images and variables?`;
