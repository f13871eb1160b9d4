/** `auspex tags`: the images that were pushed for a model, and what removes them. */
import { ControlPlaneError } from "../../../runner/src/control-plane/error.ts";
import { pageOf } from "../../protocol/common.ts";
import { versionSummary } from "../../protocol/model.ts";
import { type ImageReference, imageArgument, limitOption, wholeModelArgument } from "../options.ts";
import { RegistryClient, RegistryError } from "../registry/registry-client.ts";
import { Repository } from "../registry/repository.ts";
import type { Service } from "../service/service.ts";
import { confirmed } from "../ui/confirm.ts";
import { table } from "../ui/output.ts";
import { type Host, newServiceCommand, openService, type ServiceSession } from "./session.ts";

export const tagsCommand = (host: Host) =>
  newServiceCommand("tags", "List the tags of a model's images in the registry, or remove one")
    .argument("<model>", "owner/name", wholeModelArgument)
    .option("--limit <count>", "how many", limitOption, 25)
    .action(async (model, options) => {
      const session = await openService(host, options);
      const tags = await repositoryOf(session, model).tags(options.limit);
      const rows = tags.map(({ tag, digest }) => [`${model}:${tag}`, digest]);
      session.output.result(table(["TAG", "IMAGE"], rows), tags);
    })
    .addCommand(deleteTagCommand(host));

const MORE = `
An image that no tag and no version names is removed within a week. With its digest in place of a tag it
is removed at once, with all of its tags.

  auspex tags delete ada/story:latest
  auspex tags delete ada/story@sha256:…`;

const deleteTagCommand = (host: Host) =>
  newServiceCommand("delete", "Remove a tag, or an image with all of its tags")
    .argument("<image>", "owner/name:tag or owner/name@sha256:…", imageArgument)
    .option("-y, --yes", "do not ask")
    .addHelpText("after", MORE)
    .action(async (image, options) => {
      const session = await openService(host, options);
      const { model, reference, isDigest } = image;
      const what = isDigest ? `the image ${model}@${reference}` : `the tag ${model}:${reference}`;
      await confirmed(options, () => `Delete ${what}${isDigest ? " with all of its tags" : ""}?`);
      await repositoryOf(session, model)
        .deleteManifest(reference)
        .catch(async (error: unknown) => {
          throw await explained(error, session.service, image);
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

/** What is not there was perhaps mistyped; what is needed, a version needs. */
async function explained(
  error: unknown,
  service: Service,
  { model, reference, isDigest }: ImageReference,
): Promise<unknown> {
  if (!(error instanceof RegistryError)) return error;
  const { status, code, message } = error;
  const saying = (text: string) => new ControlPlaneError(text, { ...(status && { status }) });
  if (code === "MANIFEST_UNKNOWN")
    return saying(
      `${model} has no ${isDigest ? "image" : "tag"} ${reference}. auspex tags ${model} lists those that it has.`,
    );
  if (status !== 409) return error;
  const path = `/models/${model}/versions?page_size=50`;
  const { items } = await service.get(path, pageOf(versionSummary));
  const own = items.filter((one) => one.container_image_digest === reference);
  const commands = own.map(({ number }) => `auspex versions delete ${model}:${number}`);
  return saying([message, ...commands].join("\n"));
}
