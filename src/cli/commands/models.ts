/** `auspex models`: yours, or another account's. */
import { pageOf, slug } from "../../protocol/common.ts";
import { modelItem } from "../../protocol/model.ts";
import { Misuse } from "../failure.ts";
import { limitOption, pagePath } from "../options.ts";
import { ownerName } from "../service/owner.ts";
import { table } from "../ui/output.ts";
import { type Host, newServiceCommand, openService } from "./session.ts";

export const modelsCommand = (host: Host) =>
  newServiceCommand("models", "List your models, or the models of another account")
    .argument("[owner]")
    .option("--limit <count>", "how many", limitOption, 25)
    .action(async (owner, options) => {
      if (owner !== undefined && !slug.safeParse(owner).success)
        throw new Misuse(`“${owner}” is no account's name.`);
      const { service, output } = await openService(host, options);
      const path = owner === undefined ? "/user/models" : `/models/${owner}`;
      const { items } = await service.get(pagePath(path, options.limit), pageOf(modelItem));
      const shown = items.slice(0, options.limit);
      const rows = shown.map((one) => [
        `${ownerName(one.owner)}/${one.name}`,
        one.visibility,
        String(one.predictions_count),
        one.description,
      ]);
      output.result(table(["MODEL", "VISIBILITY", "RUNS", "DESCRIPTION"], rows), shown);
    });
