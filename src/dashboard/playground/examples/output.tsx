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
        <strong>An example that {model.owner.username} shows.</strong>{" "}
        <a href={modelAddress(model, `/versions/${number}`)}>Version {number}</a>
        {execution_time !== null && ` ran ${duration(Number(execution_time))}`}.
      </p>
      {exampleOutputs(example.output, host).map((output) => (
        <OutputValue output={output} host={host} all={modelAddress(model, "/examples")} />
      ))}
    </div>
  );
}
