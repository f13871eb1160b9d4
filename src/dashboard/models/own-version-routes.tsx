/** Pages for owners of versions: …/versions/new and …/versions/{n}/delete. */

import type { Hardware } from "../../protocol/hardware.ts";
import { updateModel } from "../../services/models/models.ts";
import { ownConfiguration } from "../../services/models/version-image.ts";
import { createVersion, deleteVersion, imagePath } from "../../services/models/versions.ts";
import { recentTags } from "../../services/registry/lists.ts";
import { listAllHardware } from "../../services/runners/hardware.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, handleForm } from "../form.ts";
import { pushText, repositoryAt } from "../publish/commands.ts";
import { Choices, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { modelAddress, ownModelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { Copy } from "../ui/parts.tsx";
import { readVersionForm, withFieldIssues } from "./read-form.ts";
import { renderVersion } from "./version.tsx";
import { type ImageChoices, ImageFields, Runtime, Schemas } from "./version-form.tsx";

const PublishCommand = ({ model, origin }: { model: DetailedModelRow; origin: string }) => (
  <details class="spaced">
    <summary>Publish from the command line</summary>
    <p>Build, push and publish from the model’s folder:</p>
    <Copy text={`auspex publish --model ${model.owner.username}/${model.name}`} />
    <p>Or push an image and create a version from it:</p>
    <Copy
      lines
      text={pushText({
        origin,
        username: model.owner.username,
        name: model.name,
        token: undefined,
        isFirst: !model.latest_version,
      })}
    />
    <p class="hint">
      <a href={modelAddress(model, "/publish")}>Install the CLI and log in</a>. See the{" "}
      <a href="/docs/reference/model-versions#createVersion">API reference</a> for all fields.
      Without <code>configuration</code>, a version inherits the previous one’s.
    </p>
  </details>
);

interface Props {
  model: DetailedModelRow;
  hardware: Hardware[];
  draft: Draft;
  origin: string;
  images: ImageChoices;
}

const NewVersion = ({ model, hardware, draft, origin, images }: Props) => {
  const runs = defaultVersion(model);
  return (
    <>
      <h2>New version</h2>
      <p>
        A version is a container image with its input and output schemas. Versions never change: to
        fix one, publish the next.
        {model.latest_version && ` This form starts from version ${model.latest_version.number}.`}
      </p>
      <PublishCommand model={model} origin={origin} />
      <Form action={modelAddress(model, "/versions/new")} class="measure model-form" draft={draft}>
        <fieldset class="box group">
          <legend>Image</legend>
          <ImageFields model={model} images={images} />
          <TextField
            name="release_notes"
            label="Release notes"
            hint="What changed, in one sentence."
            maxlength={255}
          />
          <Choices
            name="interface"
            label="Container interface"
            values={[ownConfiguration(model.latest_version).interface ?? ""]}
            options={INTERFACES}
            one
          />
        </fieldset>
        <Schemas model={model} />
        <Runtime model={model} hardware={hardware} />
        {runs && (
          <Choices
            name="set_default"
            label="Default version"
            values={["true"]}
            options={[
              { value: "true", label: "Make this version the default" },
              { value: "false", label: `Keep version ${runs.number}` },
            ]}
            one
          />
        )}
        <Submit>Publish version</Submit>
      </Form>
    </>
  );
};

const INTERFACES = [
  {
    value: "",
    label: "Detect from the image",
    hint: "Cog, unless the image’s labels or command indicate an OpenAI-compatible server.",
  },
  { value: "cog", label: "Cog", hint: "Images built with Cog run unmodified." },
  {
    value: "vendora",
    label: "OpenAI-compatible server",
    hint: "vLLM, llama.cpp server, TGI, TEI and others.",
  },
];

async function showNewVersion(c: PageContext, draft: Draft) {
  const { origin, services } = c.var;
  const { owner = "", name = "" } = c.req.param();
  const [model, path, hardware] = await Promise.all([
    ownModelOf(c, "write"),
    imagePath(services, owner),
    listAllHardware(services),
  ]);
  const content = async () => {
    const images = {
      repository: repositoryAt(origin, owner, name),
      tags: await recentTags(services, model.id),
      isElsewhereAllowed: path !== undefined || services.settings.imageAllowList.length > 0,
    };
    return <NewVersion {...{ model, hardware, draft, origin, images }} />;
  };
  const title = `New version of ${referenceOf(model)}`;
  return renderModel(c, { model, page: "/versions", title }, content());
}

export const ownVersionPages = pages()
  .get("/models/:owner/:name/versions/new", requireUser, (c) => showNewVersion(c, emptyDraft))
  .post("/models/:owner/:name/versions/new", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const { services } = c.var;
    const sent = await handleForm(c, (form) =>
      withFieldIssues(async () =>
        createVersion(services, viewerOf(c).caller, owner, name, readVersionForm(form)),
      ),
    );
    if (sent.draft) return showNewVersion(c, sent.draft);
    const { number } = sent.done;
    const address = `/models/${owner}/${name}/versions/${number}`;
    return redirectWithFlash(c, `Version ${number} published.`, address);
  })
  .post(
    "/models/:owner/:name/versions/:number{[1-9][0-9]{0,8}}/default",
    requireUser,
    async (c) => {
      const { owner, name, number } = c.req.param();
      const change = { default_version: Number(number) };
      const sent = await handleForm(c, () =>
        updateModel(c.var.services, viewerOf(c).caller, owner, name, change),
      );
      if (sent.draft) return renderVersion(c, Number(number), sent.draft);
      const address = `/models/${owner}/${name}/versions`;
      return redirectWithFlash(c, `Version ${number} is now the default.`, address);
    },
  )
  .post("/models/:owner/:name/versions/:number{[1-9][0-9]{0,8}}/delete", requireUser, async (c) => {
    const { owner, name, number } = c.req.param();
    const { services } = c.var;
    const sent = await handleForm(c, () =>
      deleteVersion(services, viewerOf(c).caller, owner, name, Number(number)),
    );
    if (sent.draft) return renderVersion(c, Number(number), sent.draft);
    return redirectWithFlash(c, `Version ${number} deleted.`, `/models/${owner}/${name}/versions`);
  });
