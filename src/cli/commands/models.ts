/** `auspex models`: lists the models of an account, and deletes one. */

import { ControlPlaneError } from "../../../runner/src/lib/error.ts";
import { priceText } from "../../domain/money/price.ts";
import { pageOf, slug } from "../../protocol/common.ts";
import { type Hardware, hardware } from "../../protocol/hardware.ts";
import {
  type Model,
  modelItem,
  model as modelShape,
  type Version,
  type VersionSummary,
  version,
  versionSummary,
} from "../../protocol/model.ts";
import { amountOf } from "../../protocol/money.ts";
import { ownerName } from "../../protocol/user.ts";
import { Failure, Misuse } from "../failure.ts";
import {
  type ImageReference,
  imageArgument,
  limitOption,
  modelArgument,
  pagePath,
  versionArgument,
  wholeModelArgument,
} from "../options.ts";
import { RegistryClient, RegistryError } from "../registry/registry-client.ts";
import { Repository } from "../registry/repository.ts";
import { fullName, isDeployment, type Service } from "../service/service.ts";
import {
  type Host,
  newServiceCommand,
  openService,
  type ServiceSession,
  showList,
} from "../session.ts";
import { confirmed, localTime } from "../ui/output.ts";
import { formatBytes } from "../ui/progress.ts";
import { collaboratorsCommand, shareCommand, unshareCommand } from "./collaborators.ts";
import { rollBackDeployment } from "./deployments.ts";

export const modelsCommand = (host: Host) =>
  newServiceCommand("models", "List models")
    .argument("[owner]", "list this account's models (default: your own)")
    .option("--limit <count>", "number of rows", limitOption, 25)
    .action(async (owner, options) => {
      if (owner !== undefined && !slug.safeParse(owner).success)
        throw new Misuse(`Invalid account name "${owner}".`);
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
    .addCommand(shareCommand(host))
    .addCommand(unshareCommand(host))
    .addCommand(collaboratorsCommand(host))
    .addCommand(deleteModelCommand(host));

const deleteModelCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a model with its versions, images and variables")
    .argument("<model>", "owner/name", wholeModelArgument)
    .option("-y, --yes", "skip confirmation")
    .action(async (name, options) => {
      const { service, output } = await openService(host, options);
      const model = await fullName(service, name);
      const path = `/models/${model}`;
      await confirmed(options, async () => questionOf(model, await service.get(path, modelShape)));
      await service.delete(path);
      output.result(`Deleted ${model}.`, { model });
    });

const questionOf = (name: string, { visibility, predictions_count, latest_version }: Model) =>
  `Delete ${name} (${visibility}, ${predictions_count} runs${latest_version ? `, version ${latest_version.number}` : ", no versions"}), and its images and variables?`;

export const hardwareCommand = (host: Host) =>
  newServiceCommand("hardware", "List hardware")
    .option("--limit <count>", "number of rows", limitOption, 50)
    .action(async (options) => {
      const session = await openService(host, options);
      const path = pagePath("/hardware", options.limit);
      const { items } = await session.service.get(path, pageOf(hardware));
      const shown = items.slice(0, options.limit);
      const hasPrice = shown.some(({ price_per_hour }) => price_per_hour !== null);
      const head = [...HEAD, ...(hasPrice ? ["PRICE PER HOUR"] : [])];
      showList(session, { head, rows: shown.map(rowOf), items: shown });
    });

const HEAD = ["CLASS", "NAME", "GPUS", "CPUS", "RAM"];

/** The memory of a class is optional. */
const rowOf = ({
  identifier,
  name,
  gpus,
  ram_per_gpu_gb,
  cpus,
  ram_gb,
  price_per_hour,
  currency,
}: Hardware) => [
  identifier,
  name,
  gpus > 0 && ram_per_gpu_gb > 0 ? `${gpus} × ${ram_per_gpu_gb} GB` : String(gpus),
  String(cpus),
  ram_gb > 0 ? `${ram_gb} GB` : "",
  price_per_hour === null ? "" : priceText(amountOf(price_per_hour) ?? 0, currency),
];

export const tagsCommand = (host: Host) =>
  newServiceCommand("tags", "List the tags of a model's images")
    .argument("<model>", "owner/name", wholeModelArgument)
    .option("--limit <count>", "number of rows", limitOption, 25)
    .action(async (name, options) => {
      const session = await openService(host, options);
      const model = await fullName(session.service, name);
      const tags = await repositoryOf(session, model).tags(options.limit);
      const rows = tags.map(({ tag, digest }) => [`${model}:${tag}`, digest]);
      showList(session, { head: ["TAG", "IMAGE"], rows, items: tags });
    })
    .addCommand(deleteTagCommand(host));

const MORE = `
Untagged images that no version uses are deleted within a week. Pass a digest to delete an image and all
its tags now. An image can't be deleted while a version uses it, or for four days after that version is
deleted.

  auspex tags delete ada/story:latest
  auspex tags delete ada/story@sha256:…`;

const deleteTagCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a tag, or an image and all its tags")
    .argument("<image>", "owner/name:tag or owner/name@sha256:…", imageArgument)
    .option("-y, --yes", "skip confirmation")
    .addHelpText("after", MORE)
    .action(async ({ model: name, ...image }, options) => {
      const session = await openService(host, options);
      const model = await fullName(session.service, name);
      const { reference, isDigest } = image;
      const what = isDigest ? `image ${model}@${reference}` : `tag ${model}:${reference}`;
      await confirmed(options, () => `Delete ${what}${isDigest ? " and all its tags" : ""}?`);
      await repositoryOf(session, model)
        .deleteManifest(reference)
        .catch((error: unknown) => {
          throw explained(error, { model, ...image });
        });
      session.output.result(`Deleted ${what}.`, { model, reference });
    });

const repositoryOf = (
  { access, signal, onRetry, folders }: ServiceSession,
  name: string,
): Repository =>
  new Repository({
    client: new RegistryClient({ access, signal, onRetry }),
    name,
    state: folders.state,
  });

/** A missing tag or digest is explained with the command that lists the existing ones. */
function explained(error: unknown, { model, reference, isDigest }: ImageReference): unknown {
  if (!(error instanceof RegistryError) || error.code !== "MANIFEST_UNKNOWN") return error;
  return new ControlPlaneError(
    `${isDigest ? "Image" : "Tag"} ${reference} not found in ${model}. List its tags with auspex tags ${model}.`,
    { status: 404 },
  );
}

const ROLLBACK = `
Without a version number, rolls back to the version before the current default. No version is deleted: to
undo, run it again with the newer number. A deployment goes back to the release before, or gives up the one
that is starting; a second rollback undoes the first.

  auspex rollback ada/story
  auspex rollback ada/story:3
  auspex rollback ada/chat`;

export const rollbackCommand = (host: Host) =>
  newServiceCommand("rollback", "Go back to an earlier version, or a deployment's release before")
    .argument("<model>", "owner/name or owner/name:3, or a deployment", modelArgument)
    .addHelpText("after", ROLLBACK)
    .action(async ({ model: name, version: wanted }, options) => {
      const { service, output } = await openService(host, options);
      const model = await fullName(service, name);
      const path = `/models/${model}`;
      const back = wanted === undefined ? await rollBackDeployment(service, model) : undefined;
      if (back) {
        const { current_release } = back;
        const runs = `${current_release?.model ?? "a deleted model"}:${current_release?.version}`;
        return output.result(`${model} runs ${runs} as release ${current_release?.number}.`, back);
      }
      if (wanted !== undefined && (await isDeployment(service, model)))
        throw new Misuse(
          `${model} is a deployment, which goes back to the release before: auspex rollback ${model}. To run another version: auspex deploy ${model} MODEL:VERSION.`,
        );
      const { default_version, latest_version } = await service.get(path, modelShape);
      const from = default_version ?? latest_version?.number;
      if (from === undefined)
        throw new Failure(`${model} has no versions. Publish one with auspex publish.`);
      const number = wanted ?? (await versionBefore(service, model, from));
      await service.patch(path, modelShape, { default_version: number });
      output.result(`The default version of ${model} is now ${number} (was ${from}).`, {
        model,
        number,
        before: from,
      });
    });

async function versionBefore(service: Service, model: string, number: number): Promise<number> {
  const versions = await service.list(`/models/${model}/versions`, versionSummary);
  const before = versions.find((one) => one.number < number);
  if (before) return before.number;
  throw new Failure(
    `${model} has no version before ${number}. List its versions with auspex versions ${model}.`,
  );
}

export const versionsCommand = (host: Host) =>
  newServiceCommand("versions", "List a model's versions, or show one")
    .argument("<model>", "owner/name or owner/name:3", modelArgument)
    .option("--limit <count>", "number of rows", limitOption, 25)
    .action(async ({ model: name, version: number }, options) => {
      const session = await openService(host, options);
      const { service, output } = session;
      const model = await fullName(service, name);
      const path = `/models/${model}/versions`;
      if (number !== undefined) {
        const one = await service.get(`${path}/${number}`, version);
        return output.result(describe(model, one), one);
      }
      const list = pageOf(versionSummary);
      const [{ items }, { latest_version: latest, default_version }] = await Promise.all([
        service.get(pagePath(path, options.limit), list),
        service.get(`/models/${model}`, modelShape),
      ]);
      const shown = items.slice(0, options.limit);
      const rows = shown.map((one) => [
        `${model}:${one.number}`,
        localTime(one.created_at),
        one.container_image_digest?.slice(0, "sha256:".length + 12) ?? "remote",
        one.number === (default_version ?? latest?.number) ? "default" : "",
        one.release_notes,
      ]);
      const head = ["VERSION", "CREATED", "IMAGE", "", "NOTES"];
      const note = latest && awaitsStart(latest) ? `\n${model}:${latest.number} ${WAITS}.` : "";
      showList(session, { head, rows, items: shown, note });
    })
    .addCommand(deleteVersionCommand(host));

const DELETED = `
Predictions that were already created still run. The image is kept for four days; after that you can
delete it with auspex tags delete.`;

const deleteVersionCommand = (host: Host) =>
  newServiceCommand("delete", "Delete a version")
    .argument("<version>", "owner/name:3", versionArgument)
    .option("-y, --yes", "skip confirmation")
    .addHelpText("after", DELETED)
    .action(async ({ model: name, version: number }, options) => {
      const { service, output } = await openService(host, options);
      const model = await fullName(service, name);
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
  before ? ` The default becomes ${model}:${before.number}.` : " It is the only version.";

const WAITS = "has not been started yet. Run it once to detect its schema and APIs";
const awaitsStart = ({ status }: Version) => status === "awaiting_first_start";

function describe(model: string, one: Version): string {
  const { size, configuration, compatibilities } = one;
  const apis = Object.entries(compatibilities).flatMap(([name, isThere]) => (isThere ? name : []));
  return [
    `${model}:${one.number}  ${one.release_notes}`,
    `created  ${localTime(one.created_at)}`,
    ...(awaitsStart(one) ? [`status   ${WAITS}`] : []),
    `image    ${one.container_image_digest ?? "none: a remote version"}${size > 0 ? ` (${formatBytes(size)} unpacked)` : ""}`,
    `apis     ${apis.join(", ") || "predictions only"}`,
    `settings ${JSON.stringify(configuration)}`,
    `input    ${JSON.stringify(one.schemas.prediction.input)}`,
    `output   ${JSON.stringify(one.schemas.prediction.output)}`,
  ].join("\n");
}
