/** The image of a version: a tag that was pushed here, or a digest, also of another registry. */
import { modelOfRepository } from "../../protocol/registry.ts";
import type { PushedTag } from "../../services/registry/lists.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { type Draft, fieldText } from "../form.ts";
import { Choices, controlAttributes, Field, Select, TextField } from "../ui/fields.tsx";
import { modelAddress } from "./header.tsx";

/** Places where the images of a model may be. */
export interface ImageChoices {
  /** The repository of the model here, as clients push to it. */
  repository: string;
  /** Tags of the repository, last pushed first. */
  tags: PushedTag[];
  /** Whether the operator allows images of other registries. */
  isElsewhereAllowed: boolean;
  /** The repository elsewhere for digests that are not here; undefined if the operator has set none. */
  elsewhere: string | undefined;
}

interface Props {
  model: DetailedModelRow;
  draft: Draft;
  images: ImageChoices;
}

/** Whether the version before is in another registry: the next one begins there as well. */
export const isLatestElsewhere = ({ latest_version: latest }: DetailedModelRow): boolean =>
  latest !== null &&
  modelOfRepository(latest.configuration.image ?? latest.repository) === undefined;

export const ImageFields = ({ model, draft, images }: Props) => (
  <>
    <Choices
      name="image_by"
      label="Which image"
      draft={draft}
      values={[isLatestElsewhere(model) ? "digest" : "tag"]}
      options={[
        { value: "tag", label: "What a tag names now", hint: `In ${images.repository}` },
        {
          value: "digest",
          label: "A digest",
          hint: images.isElsewhereAllowed ? "The image may be in another registry." : "",
        },
      ]}
      one
    />
    <div class="tag-fields">
      <Tag model={model} draft={draft} images={images} />
    </div>
    <div class="digest-fields">
      <Digest draft={draft} />
      {images.isElsewhereAllowed && (
        <TextField
          name="repository"
          label="Repository"
          hint={<RepositoryHint images={images} />}
          draft={draft}
          value={model.latest_version?.configuration.image}
          maxlength={255}
        />
      )}
    </div>
  </>
);

/** A tag that the draft names is chosen again, if it is still there. */
function Tag({ model, draft, images: { repository, tags } }: Props) {
  if (tags.length === 0) {
    return (
      <p class="hint">
        Nothing has been pushed to <code>{repository}</code> yet.{" "}
        <a href={modelAddress(model, "/publish")}>Push an image</a>, then reload this page.
      </p>
    );
  }
  return (
    <Select
      name="image"
      label="Tag"
      draft={draft}
      value={tags.find(({ tag }) => tag === "latest")?.tag ?? ""}
      required
      options={tags.map(({ tag, digest, updated_at }) => ({
        value: tag,
        label: `${tag} (${digest.slice(0, 19)}…, pushed ${new Date(updated_at).toISOString().slice(0, 10)})`,
      }))}
    />
  );
}

/** The field has no `required` attribute: browsers would enforce it while the field is hidden. */
function Digest({ draft }: { draft: Draft }) {
  const about = { name: "container_image_digest", hint: "Of the image or its index.", draft };
  return (
    <Field {...about} label="Digest" required>
      <input
        {...controlAttributes(about.name, about.hint, draft)}
        value={draft.values ? fieldText(draft.values, about.name) : ""}
        placeholder={`sha256:${"0".repeat(8)}…`}
        pattern="sha256:[a-f0-9]{64}"
        title="sha256: and 64 characters of 0-9 and a-f, as docker push prints it"
        autocomplete="off"
      />
    </Field>
  );
}

const RepositoryHint = ({ images: { repository, elsewhere } }: { images: ImageChoices }) => (
  <>
    Only for another registry. Leave empty for <code>{repository}</code>
    {elsewhere !== undefined && (
      <>
        {" "}
        and, if it is not there, <code>{elsewhere}</code>
      </>
    )}
    .
  </>
);
