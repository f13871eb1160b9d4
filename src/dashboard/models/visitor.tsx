/** A model's page for visitors: the form of its playground, to look at. */
import type { Outlook } from "../../domain/models/outlook.ts";
import type { Example } from "../../protocol/example.ts";
import type { ExampleChoice } from "../../services/models/examples.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { emptyDraft } from "../form.ts";
import { Control } from "../playground/controls.tsx";
import { ExampleChoices } from "../playground/examples/choices.tsx";
import { ExampleOutput } from "../playground/examples/output.tsx";
import { inputFields, inputFor } from "../playground/input.ts";
import { Empty } from "../ui/parts.tsx";
import { ModelHeader, modelAddress } from "./header.tsx";

interface Props {
  model: DetailedModelRow;
  version: VersionRow;
  outlook: Outlook;
  examples: ExampleChoice[];
  /** The one that was chosen. */
  example: Example | undefined;
  host: string;
}

export const VisitorPage = ({ model, version, outlook, examples, example, host }: Props) => (
  <>
    <ModelHeader model={model} viewer={undefined} page="" expected={{ outlook, version }} />
    <div class="playground">
      <section class="playground-input" aria-labelledby="playground-input">
        <div class="playground-head">
          <h2 id="playground-input">Input</h2>
        </div>
        <Inputs version={version} example={example} />
      </section>
      <div class="playground-result">
        <ExampleChoices
          examples={examples}
          address={modelAddress(model)}
          current={example?.id}
          host={host}
        />
        {example && (
          <section aria-label="Output">
            <ExampleOutput model={model} example={example} host={host} />
          </section>
        )}
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
function Inputs({ version, example }: Pick<Props, "version" | "example">) {
  const { fields } = inputFor(inputFields(version), example?.input, false);
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
