/** The examples of a model in its playground: links to them, the chosen one, and its output. */

import { fillForm } from "../../domain/schemas/input-form-values.ts";
import type { Json } from "../../protocol/common.ts";
import type { Example } from "../../protocol/example.ts";
import { type ExampleChoice, goneVersions, readExample } from "../../services/models/examples.ts";
import type { Services } from "../../services/services.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { OutputValue } from "../prediction-view/output.tsx";
import { isUrlKind, outputOf, outputsOf } from "../prediction-view/output-kind.ts";
import { duration } from "../ui/duration.ts";
import { modelAddress } from "../ui/model-header.tsx";
import { inputFields } from "./input.ts";
import { Picture } from "./recent-runs.tsx";
import { type KnownField, labelOf, pictureOf, wordsOf } from "./run-inputs.ts";

interface OfVersion {
  model: DetailedModelRow;
  number: number;
  isGone: boolean;
}

/** A version that is gone has no page. */
export const ExampleVersion = ({ model, number, isGone }: OfVersion) =>
  isGone ? (
    <span>{`Version ${number} (deleted)`}</span>
  ) : (
    <a href={modelAddress(model, `/versions/${number}`)}>{`Version ${number}`}</a>
  );

interface OutputProps {
  model: DetailedModelRow;
  example: Example;
  isVersionGone: boolean;
  host: string;
}

export function ExampleOutput({ model, example, isVersionGone, host }: OutputProps) {
  const { version_number: number, execution_time } = example;
  return (
    <div data-example-output>
      <p class="hint">
        {`Example by ${model.owner.username} · `}
        <ExampleVersion model={model} number={number} isGone={isVersionGone} />
        {execution_time !== null && ` · ${duration(Number(execution_time))}`}
      </p>
      <div class="outputs">
        {exampleOutputs(example.output, host).map((output) => (
          <OutputValue output={output} host={host} all={modelAddress(model, "/examples")} />
        ))}
      </div>
    </div>
  );
}

/** A list with files is shown item by item; other strings are pieces of one text. */
export function exampleOutputs(output: Json, host: string) {
  const values = Array.isArray(output) ? output : [output];
  const hasFiles = values.some((value) => isUrlKind(outputOf(value, host)));
  return outputsOf(values, { display: hasFiles ? "list" : "text", host, whole: true });
}

export interface ChosenExample {
  example: Example | undefined;
  isVersionGone: boolean;
  note: string | undefined;
}

export const NO_EXAMPLE: ChosenExample = {
  example: undefined,
  isVersionGone: false,
  note: undefined,
};

/**
 * @param id as the address names it; undefined: the first example, if the version's form can hold its input
 * @param version whose form is shown
 */
export async function chosenExample(
  services: Services,
  version: VersionRow,
  id: string | undefined,
  origin: string,
): Promise<ChosenExample> {
  const { model_id, number } = version;
  const example = await readExample(services, model_id, id, origin);
  if (!example) return id === undefined ? NO_EXAMPLE : { ...NO_EXAMPLE, note: GONE };
  if (id === undefined && !fillForm(inputFields(version), example.input)) return NO_EXAMPLE;
  const made = example.version_number;
  const gone = made === number ? new Set() : await goneVersions(services, model_id, [example]);
  const isVersionGone = gone.has(made);
  const note = isVersionGone
    ? `This example ran on version ${made}, which was deleted. You are viewing version ${number}.`
    : undefined;
  return { example, isVersionGone, note };
}

const GONE = "Example not found. It may have been removed.";

interface ChoicesProps {
  examples: ExampleChoice[];
  address: string;
  current: string | undefined;
  host: string;
  fields: KnownField[];
}

export const ExampleChoices = ({ examples, address, current, host, fields }: ChoicesProps) =>
  examples.length === 0 ? null : (
    <nav class="run-row" aria-labelledby="examples" data-examples>
      <h2 id="examples" class="quiet small">
        Examples
      </h2>
      <ol>
        {examples.map(({ id, input, output }, n) => (
          <li>
            <a href={`${address}?example=${id}`} aria-current={id === current ? "page" : undefined}>
              <Picture address={pictureOf(output, host)} />
              <span class="clamp run-label" dir="auto">
                {labelOf(input, fields) || `Example ${n + 1}`}
              </span>
              <Made words={wordsOf(output)} />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );

const Made = ({ words }: { words: string | undefined }) =>
  words === undefined ? null : (
    <span class="clip run-words" dir="auto">
      {words}
    </span>
  );
