/** A model's page for visitors: the form of its playground, to look at. */
import type { Outlook } from "../../domain/models/outlook.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { emptyDraft } from "../form.ts";
import { Control } from "../playground/controls.tsx";
import { inputFields, inputFor } from "../playground/input.ts";
import { Empty } from "../ui/parts.tsx";
import { ModelHeader, modelAddress } from "./header.tsx";

interface Props {
  model: DetailedModelRow;
  version: VersionRow;
  outlook: Outlook;
}

export const VisitorPage = ({ model, version, outlook }: Props) => (
  <>
    <ModelHeader model={model} viewer={undefined} page="" expected={{ outlook, version }} />
    <div class="playground">
      <section class="playground-input" aria-labelledby="playground-input">
        <div class="playground-head">
          <h2 id="playground-input">Input</h2>
        </div>
        <Inputs version={version} />
      </section>
      <div class="playground-result">
        <Empty title="Sign in to run it">
          <p>
            <a
              class="button primary"
              href={`/sign-in?next=${encodeURIComponent(modelAddress(model))}`}
            >
              Sign in
            </a>
          </p>
          <p>
            Or see <a href={modelAddress(model, "/api")}>how programs call it</a>.
          </p>
        </Empty>
      </div>
    </div>
  </>
);

/** Disabled: what they type would be lost when they sign in. */
function Inputs({ version }: Pick<Props, "version">) {
  const { fields } = inputFor(inputFields(version), undefined, false);
  if (fields.length === 0) return <p class="hint">It takes its input as JSON.</p>;
  return (
    <fieldset class="playground-fields" disabled>
      <legend class="visually-hidden">Fields</legend>
      {fields.map((field, n) => (
        <Control field={field} n={n} draft={emptyDraft} />
      ))}
    </fieldset>
  );
}
