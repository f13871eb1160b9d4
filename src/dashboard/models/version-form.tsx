/** The form of a version: image, schemas and runtime settings. */

import type { Hardware } from "../../protocol/hardware.ts";
import { modelOfRepository } from "../../protocol/registry.ts";
import { ownConfiguration } from "../../services/models/version-image.ts";
import type { PushedTag } from "../../services/registry/lists.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import {
  COMPATIBILITIES,
  EGRESS_CHOICES,
  egressOf,
  ISOLATION_CHOICES,
  isolationOf,
} from "../ui/configuration.ts";
import { Choices, Select, TextArea, TextField } from "../ui/fields.tsx";
import { modelAddress } from "../ui/model-header.tsx";
import { weightLines } from "./read-form.ts";

interface Props {
  model: DetailedModelRow;
}

export function Runtime({ model, hardware }: Props & { hardware: Hardware[] }) {
  const configuration = ownConfiguration(model.latest_version);
  const egress = egressOf(configuration);
  return (
    <fieldset class="box group">
      <legend>Runtime</legend>
      <Select
        name="hardware_identifier"
        label="Hardware"
        value={configuration.hardware_identifier ?? ""}
        options={[
          { value: "", label: "Same as the model" },
          ...hardware.map(({ identifier, name }) => ({
            value: identifier,
            label: name === identifier ? name : `${name} (${identifier})`,
          })),
        ]}
      />
      <TextField
        name="timeout_seconds"
        label="Timeout, seconds"
        hint="Counted from when the container is ready. Defaults to 1,800."
        value={configuration.timeout_seconds?.toString()}
        type="number"
        min="1"
        max="86400"
      />
      <Choices
        name="isolation"
        label="Container sharing"
        values={[isolationOf(configuration)]}
        options={[...ISOLATION_CHOICES]}
        one
      />
      <Choices
        name="egress"
        label="Network access"
        values={[egress.choice]}
        options={[...EGRESS_CHOICES]}
        one
      />
      <div class="hosts-field">
        <TextArea
          name="egress_hosts"
          label="Hosts"
          hint="One per line, such as huggingface.co or *.hf.co."
          value={egress.hosts}
          rows={3}
          class="mono"
          required
          mayHide
        />
      </div>
      <TextField
        name="max_concurrency"
        label="Concurrent predictions per container"
        hint="Defaults to Cog’s labels, otherwise 1, or 32 for OpenAI-compatible servers."
        value={configuration.max_concurrency?.toString()}
        type="number"
        min="1"
        max="1000"
      />
      <TextField
        name="idle_seconds"
        label="Idle time before a container stops, seconds"
        hint="Defaults to 300."
        value={configuration.idle_seconds?.toString()}
        type="number"
        min="0"
        max="86400"
      />
      <TextField
        name="listen_timeout_seconds"
        label="Listen timeout, seconds"
        hint="How long to wait for a starting container to accept connections."
        value={configuration.listen_timeout_seconds?.toString()}
        type="number"
        min="1"
        max="86400"
      />
      <TextArea
        name="variable_names"
        label="Variables"
        hint={
          <>
            Names of the <a href={modelAddress(model, "/variables")}>variables</a> to pass to
            containers, one per line.
          </>
        }
        value={configuration.variable_names?.join("\n")}
        rows={3}
        class="mono"
      />
      <TextArea
        name="weights"
        label="Weights"
        hint={
          <>
            <a href="/docs/models#weights-that-are-not-in-the-image">Files outside the image</a>,
            one per line: the path in the container, then the ID or URL of your upload.
          </>
        }
        value={weightLines(configuration)}
        rows={3}
        class="mono"
      />
    </fieldset>
  );
}

export interface ImageChoices {
  /** The repository of the model here, as clients push to it. */
  repository: string;
  tags: PushedTag[];
  /** Whether the operator allows images of other registries. */
  isElsewhereAllowed: boolean;
}

interface ImageProps extends Props {
  images: ImageChoices;
}

/** Whether the version before is in another registry: the next one begins there as well. */
export const isLatestElsewhere = ({ latest_version: latest }: DetailedModelRow): boolean =>
  latest !== null &&
  modelOfRepository(latest.configuration.image ?? latest.repository) === undefined;

export const ImageFields = ({ model, images }: ImageProps) => (
  <>
    <Choices
      name="image_by"
      label="Image"
      values={[isLatestElsewhere(model) ? "digest" : "tag"]}
      options={[
        { value: "tag", label: "Tag", hint: `In ${images.repository}` },
        {
          value: "digest",
          label: "Digest",
          hint: images.isElsewhereAllowed ? "The image can be in another registry." : "",
        },
      ]}
      one
    />
    <div class="tag-fields">
      <Tag model={model} images={images} />
    </div>
    <div class="digest-fields">
      <TextField
        name="container_image_digest"
        label="Digest"
        hint="Image or index digest"
        placeholder={`sha256:${"0".repeat(8)}…`}
        pattern="sha256:[a-f0-9]{64}"
        title="sha256: followed by 64 hex digits, as printed by docker push"
        autocomplete="off"
        required
        mayHide
      />
      {images.isElsewhereAllowed && (
        <TextField
          name="repository"
          label="Repository"
          hint="Only for an image in another registry. Leave empty to use this model’s repository."
          value={model.latest_version?.configuration.image}
          maxlength={255}
        />
      )}
    </div>
  </>
);

/** A tag that was sent is chosen again, if it is still there. */
function Tag({ images: { repository, tags }, model }: ImageProps) {
  if (tags.length === 0) {
    return (
      <p class="hint">
        No images in <code>{repository}</code> yet.{" "}
        <a href={modelAddress(model, "/publish")}>Push an image</a>, then reload this page.
      </p>
    );
  }
  return (
    <Select
      name="image"
      label="Tag"
      value={tags.find(({ tag }) => tag === "latest")?.tag ?? ""}
      required
      options={tags.map(({ tag, digest, updated_at }) => ({
        value: tag,
        label: `${tag} (${digest.slice(0, 19)}…, pushed ${new Date(updated_at).toISOString().slice(0, 10)})`,
      }))}
    />
  );
}

const FIRST_INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", description: "Text to continue" } },
};

/** Schemas that were read from an image are not handed on: the next version has an image of its own. */
export function Schemas({ model }: Props) {
  const components = model.latest_version?.schemas.components;
  const { input, output, stream_output } = model.latest_version?.schemas.prediction ?? {
    input: FIRST_INPUT,
    output: { type: "string" },
    stream_output: false,
  };
  const wasGiven = isLatestElsewhere(model);
  return (
    <fieldset class="box group">
      <legend>Input and output</legend>
      <Choices
        name="schemas_from"
        label="Schemas"
        values={[wasGiven ? "form" : "image"]}
        options={SOURCES}
        one
      />
      <div class="schemas-fields">
        <TextArea
          name="input"
          label="Input"
          hint="JSON Schema (2020-12). The playground builds its form from it. Cog images serve theirs at /openapi.json."
          value={JSON.stringify(input, null, 2)}
          rows={12}
          class="mono"
          required
          mayHide
        />
        <TextArea
          name="output"
          label="Output"
          hint="JSON Schema. {} accepts any output."
          value={JSON.stringify(output, null, 2)}
          rows={4}
          class="mono"
          required
          mayHide
        />
        <TextArea
          name="components"
          label="Components"
          hint="Shared definitions that the schemas reference with #/components/schemas/…, such as those in the image’s /openapi.json. Optional."
          value={components && JSON.stringify(components, null, 2)}
          rows={4}
          class="mono"
        />
        <Choices
          name="stream_output"
          label="Streaming"
          values={stream_output ? ["true"] : []}
          options={[{ value: "true", label: "Output is streamed in parts" }]}
        />
      </div>
      <Choices
        name="compatibilities"
        label="Compatible APIs, in addition to the Auspex API"
        hint="Leave empty to detect from the image."
        values={COMPATIBILITIES.filter(
          ({ flag }) => wasGiven && model.latest_version?.compatibilities[flag],
        ).map(({ flag }) => flag)}
        options={COMPATIBILITIES.map(({ flag, name }) => ({ value: flag, label: name }))}
      />
    </fieldset>
  );
}

const SOURCES = [
  {
    value: "image",
    label: "Detect from the image",
    hint: "From Cog’s labels, or detected when the version first starts.",
  },
  { value: "form", label: "Enter here", hint: "Required for an image in another registry." },
];
