/** The output of an example in the place of a run's, and whose it is. */
import type { Example } from "../../../protocol/example.ts";
import type { DetailedModelRow } from "../../../storage/models/models.ts";
import { exampleOutputs } from "../../models/example-outputs.ts";
import { modelAddress } from "../../models/header.tsx";
import { duration } from "../../prediction-view/duration.ts";
import { OutputValue } from "../../prediction-view/output.tsx";

interface Props {
  model: DetailedModelRow;
  example: Example;
  host: string;
}

export function ExampleOutput({ model, example, host }: Props) {
  const { version_number: number, execution_time } = example;
  return (
    <div data-example-output>
      <p class="example-mark">
        <strong>An example from {model.owner.username}.</strong>{" "}
        {execution_time === null
          ? "Made with "
          : `Made in ${duration(Number(execution_time))} with `}
        <a href={modelAddress(model, `/versions/${number}`)}>version {number}</a>.
      </p>
      {exampleOutputs(example.output, host).map((output) => (
        <OutputValue output={output} host={host} all={modelAddress(model, "/examples")} />
      ))}
    </div>
  );
}
