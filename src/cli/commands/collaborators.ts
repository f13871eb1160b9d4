/** `auspex models share`, `unshare` and `collaborators`: the accounts that a model is shared with. */
import { collaborator, shareLevel } from "../../protocol/organization.ts";
import { ownerName } from "../../protocol/user.ts";
import { choice, wholeModelArgument } from "../options.ts";
import { fullName } from "../service/service.ts";
import { type Host, newServiceCommand, openService, showList } from "../session.ts";
import { localTime } from "../ui/output.ts";

const MORE = `
With run, the account sees and runs the model. With write, it also publishes versions, which can read the
model's variables.

  auspex models share ada/story grace
  auspex models share ada/story acme --level write`;

export const shareCommand = (host: Host) =>
  newServiceCommand("share", "Share a model with a user or an organization")
    .argument("<model>", "owner/name", wholeModelArgument)
    .argument("<account>", "username of the user or organization")
    .option("--level <level>", "run or write", choice(shareLevel.options), "run")
    .addHelpText("after", MORE)
    .action(async (given, account, options) => {
      const { service, output } = await openService(host, options);
      const model = await fullName(service, given);
      const { level } = options;
      const made = await service.put(placeOf(model, account), collaborator, { level });
      output.result(`${account} can now ${CAN[level]} ${model}.`, made);
    });

const CAN = { run: "run", write: "run and publish" };

export const unshareCommand = (host: Host) =>
  newServiceCommand("unshare", "Stop sharing a model with an account")
    .argument("<model>", "owner/name", wholeModelArgument)
    .argument("<account>", "username of the user or organization")
    .action(async (given, account, options) => {
      const { service, output } = await openService(host, options);
      const model = await fullName(service, given);
      await service.delete(placeOf(model, account));
      output.result(`${model} is no longer shared with ${account}.`, { model, account });
    });

export const collaboratorsCommand = (host: Host) =>
  newServiceCommand("collaborators", "List the accounts that a model is shared with")
    .argument("<model>", "owner/name", wholeModelArgument)
    .action(async (given, options) => {
      const session = await openService(host, options);
      const model = await fullName(session.service, given);
      const items = await session.service.list(`/models/${model}/collaborators`, collaborator);
      const rows = items.map(({ account, level, created_at }) => [
        ownerName(account),
        level,
        localTime(created_at),
      ]);
      showList(session, { head: ["ACCOUNT", "LEVEL", "SINCE"], rows, items });
    });

const placeOf = (model: string, account: string) =>
  `/models/${model}/collaborators/${encodeURIComponent(account)}`;
