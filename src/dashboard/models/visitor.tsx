/** A model's page for visitors: the form of its playground, to look at. */
import { type ExampleChoice, exampleChoices } from "../../services/models/examples.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { PageContext } from "../context.ts";
import {
  type ChosenExample,
  chosenExample,
  ExampleChoices,
  ExampleOutput,
  ToExamples,
} from "../playground/examples.tsx";
import { inputFields, inputFor } from "../playground/input.ts";
import { Control } from "../playground/input-form.tsx";
import { modelAddress, referenceOf, renderModel } from "../ui/model-header.tsx";
import { Empty } from "../ui/parts.tsx";

export function renderVisitor(c: PageContext, model: DetailedModelRow, version: VersionRow) {
  const { services, origin } = c.var;
  const content = Promise.all([
    exampleChoices(services, model.id, origin),
    chosenExample(services, version, c.req.query("example"), origin),
  ]).then(([examples, chosen]) => (
    <Visitor {...{ model, version, examples, host: new URL(origin).host, ...chosen }} />
  ));
  return renderModel(c, { model, page: "", title: referenceOf(model) }, content);
}

interface Props extends ChosenExample {
  model: DetailedModelRow;
  version: VersionRow;
  examples: ExampleChoice[];
  host: string;
}

const Visitor = ({ model, version, examples, host, ...chosen }: Props) => (
  <div class="split playground">
    <section class="playground-input" aria-labelledby="playground-input">
      <div class="bar spread title-row">
        <h2 id="playground-input">Input</h2>
      </div>
      <ToExamples count={examples.length} />
      {chosen.note && <p class="hint">{chosen.note}</p>}
      <Inputs version={version} example={chosen.example} />
    </section>
    <div class="playground-result">
      <ExampleChoices
        examples={examples}
        address={modelAddress(model)}
        current={chosen.example?.id}
        host={host}
        fields={inputFields(version)}
      />
      {chosen.example && (
        <section aria-label="Output">
          <ExampleOutput
            model={model}
            example={chosen.example}
            isVersionGone={chosen.isVersionGone}
            host={host}
          />
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
);

/** The form is disabled: typed values would be lost when a visitor signs in. */
function Inputs({ version, example }: Pick<Props, "version" | "example">) {
  const { fields } = inputFor(inputFields(version), example?.input, false);
  if (fields.length === 0) return <p class="hint">It takes its input as JSON.</p>;
  return (
    <fieldset class="playground-fields" disabled>
      <legend class="visually-hidden">Fields</legend>
      {fields.map((field, n) => (
        <Control field={field} n={n} />
      ))}
    </fieldset>
  );
}
