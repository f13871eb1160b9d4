/** `auspex versions`: lists the versions of a model, shows one in full, and deletes one. */
import { pageOf } from "../../protocol/common.ts";
import {
  model as modelShape,
  type Version,
  type VersionSummary,
  version,
  versionSummary,
} from "../../protocol/model.ts";
import { limitOption, modelArgument, pagePath, versionArgument } from "../options.ts";
import { confirmed } from "../ui/output.ts";
import { formatBytes } from "../ui/progress.ts";
import { type Host, newServiceCommand, openService, showList } from "./session.ts";

export const versionsCommand = (host: Host) =>
  newServiceCommand(
    "versions",
    "List a model's versions; with a number, show that one; or delete one",
  )
    .argument("<model>", "owner/name or owner/name:3", modelArgument)
    .option("--limit <count>", "how many", limitOption, 25)
    .action(async ({ model, version: number }, options) => {
      const session = await openService(host, options);
      const { service, output } = session;
      const path = `/models/${model}/versions`;
      if (number !== undefined) {
        const one = await service.get(`${path}/${number}`, version);
        return output.result(describe(model, one), one);
      }
      const list = pageOf(versionSummary);
      const [{ items }, { latest_version: latest }] = await Promise.all([
        service.get(pagePath(path, options.limit), list),
        service.get(`/models/${model}`, modelShape),
      ]);
      const shown = items.slice(0, options.limit);
      const rows = shown.map((one) => [
        `${model}:${one.number}`,
        one.created_at,
        one.container_image_digest.slice(0, "sha256:".length + 12),
        one.release_notes,
      ]);
      const head = ["VERSION", "CREATED", "IMAGE", "NOTES"];
      const note = latest && awaitsStart(latest) ? `\n${model}:${latest.number} ${WAITS}.` : "";
      showList(session, { head, rows, items: shown, note });
    })
    .addCommand(deleteVersionCommand(host));

const DELETED = `
Predictions that were accepted run to their end: for that its image stays for four days. After them,
auspex tags delete can remove it.`;

const deleteVersionCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a version")
    .argument("<version>", "owner/name:3", versionArgument)
    .option("-y, --yes", "do not ask")
    .addHelpText("after", DELETED)
    .action(async ({ model, version: number }, options) => {
      const { service, output } = await openService(host, options);
      await confirmed(options, async () => {
        const path = pagePath(`/models/${model}/versions`, 2);
        const [latest, before] = (await service.get(path, pageOf(versionSummary))).items;
        return `Delete ${model}:${number}?${latest?.number === number ? thenOf(model, before) : ""}`;
      });
      await service.delete(`/models/${model}/versions/${number}`);
      output.result(`Deleted ${model}:${number}.`, { model, number });
    });

/** Says which version is the latest after the deletion. */
const thenOf = (model: string, before: VersionSummary | undefined): string =>
  before
    ? ` Calls that name no version get ${model}:${before.number} then.`
    : " The model has no version then.";

const WAITS = "waits for its first start: run it once";
const awaitsStart = ({ status }: Version) => status === "awaiting_first_start";

function describe(model: string, one: Version): string {
  const { size, configuration, compatibilities } = one;
  const apis = Object.entries(compatibilities).flatMap(([name, isThere]) => (isThere ? name : []));
  return [
    `${model}:${one.number}  ${one.release_notes}`,
    `created  ${one.created_at}`,
    ...(awaitsStart(one) ? [`status   ${WAITS}`] : []),
    `image    ${one.container_image_digest}${size > 0 ? ` (${formatBytes(size)} unpacked)` : ""}`,
    `apis     ${apis.join(", ") || "predictions only"}`,
    `settings ${JSON.stringify(configuration)}`,
    `input    ${JSON.stringify(one.schemas.prediction.input)}`,
    `output   ${JSON.stringify(one.schemas.prediction.output)}`,
  ].join("\n");
}
