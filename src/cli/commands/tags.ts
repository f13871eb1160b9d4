/** `auspex tags`: lists the images that were pushed for a model, and removes them. */
import { ControlPlaneError } from "../../../runner/src/lib/error.ts";
import { type ImageReference, imageArgument, limitOption, wholeModelArgument } from "../options.ts";
import { RegistryClient, RegistryError } from "../registry/registry-client.ts";
import { Repository } from "../registry/repository.ts";
import { confirmed } from "../ui/output.ts";
import {
  type Host,
  newServiceCommand,
  openService,
  type ServiceSession,
  showList,
} from "./session.ts";

export const tagsCommand = (host: Host) =>
  newServiceCommand("tags", "List the tags of a model's images in the registry, or remove one")
    .argument("<model>", "owner/name", wholeModelArgument)
    .option("--limit <count>", "how many", limitOption, 25)
    .action(async (model, options) => {
      const session = await openService(host, options);
      const tags = await repositoryOf(session, model).tags(options.limit);
      const rows = tags.map(({ tag, digest }) => [`${model}:${tag}`, digest]);
      showList(session, { head: ["TAG", "IMAGE"], rows, items: tags });
    })
    .addCommand(deleteTagCommand(host));

const MORE = `
An image that no tag and no version names is removed within a week. With its digest in place of a tag it
is removed at once, with all of its tags. It stays while a version needs it, and for four days after that
version was deleted.

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
        .catch((error: unknown) => {
          throw explained(error, image);
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
  const what = isDigest ? "image" : "tag";
  return new ControlPlaneError(
    `${model} has no ${what} ${reference}. auspex tags ${model} lists those that it has.`,
    { status: 404 },
  );
}
