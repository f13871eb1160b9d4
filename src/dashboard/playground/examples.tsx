/** The examples of a model in its playground: links to them, the chosen one, and its output. */

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
import { Picture } from "./recent-runs.tsx";
import { type KnownField, labelOf, pictureOf, wordsOf } from "./run-inputs.ts";

interface OfVersion {
  model: DetailedModelRow;
  number: number;
  isGone: boolean;
  name: "version" | "Version";
}

/** A version that is gone has no page. */
export const ExampleVersion = ({ model, number, isGone, name }: OfVersion) =>
  isGone ? (
    <span>{`${name} ${number}, which was deleted`}</span>
  ) : (
    <a href={modelAddress(model, `/versions/${number}`)}>{`${name} ${number}`}</a>
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
      <p class="box small below example-mark">
        <strong>An example from {model.owner.username}.</strong>{" "}
        {execution_time === null
          ? "Made with "
          : `Made in ${duration(Number(execution_time))} with `}
        <ExampleVersion model={model} number={number} isGone={isVersionGone} name="version" />.
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

/** @param id as the address names it @param version whose form is shown */
export async function chosenExample(
  services: Services,
  { model_id, number }: Pick<VersionRow, "model_id" | "number">,
  id: string | undefined,
  origin: string,
): Promise<ChosenExample> {
  if (id === undefined) return { example: undefined, isVersionGone: false, note: undefined };
  const example = await readExample(services, model_id, id, origin);
  if (!example) return { example, isVersionGone: false, note: GONE };
  const made = example.version_number;
  const gone = made === number ? new Set() : await goneVersions(services, model_id, [example]);
  const isVersionGone = gone.has(made);
  const note = isVersionGone
    ? `This example was made with version ${made}, which was deleted. This page is for version ${number}.`
    : undefined;
  return { example, isVersionGone, note };
}

const GONE = "This example is no longer here.";

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

/** A link to the examples, which are below the form on narrow pages. */
export const ToExamples = ({ count }: { count: number }) =>
  count === 0 ? null : (
    <p class="quiet to-examples">
      {"Or start from "}
      <a href="#examples">{count === 1 ? "an example" : `one of ${count} examples`}</a>
    </p>
  );

const Made = ({ words }: { words: string | undefined }) =>
  words === undefined ? null : (
    <span class="clip run-words" dir="auto">
      {words}
    </span>
  );
