/** The output of an example in the place of a run's, and whose it is. */
import type { Example } from "../../../protocol/example.ts";
import type { DetailedModelRow } from "../../../storage/models/models.ts";
import { exampleOutputs } from "../../models/example-outputs.ts";
import { modelAddress } from "../../models/header.tsx";
import { duration } from "../../prediction-view/duration.ts";
import { OutputValue } from "../../prediction-view/output.tsx";

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

interface Props {
  model: DetailedModelRow;
  example: Example;
  /** Whether its version is gone. */
  isVersionGone: boolean;
  host: string;
}

export function ExampleOutput({ model, example, isVersionGone, host }: Props) {
  const { version_number: number, execution_time } = example;
  return (
    <div data-example-output>
      <p class="box example-mark">
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
