/** Code samples for calling a model, with the deployment's own URL. */
import { exampleInput } from "../../domain/schemas/example-input.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Expected } from "../../services/runners/serving.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { codeSamples } from "../playground/code/samples.ts";
import { Code } from "../playground/code/view.tsx";
import { ModelHeader, modelAddress } from "./header.tsx";
import { NoVersion } from "./no-version.tsx";

export const ApiPage = ({
  model,
  viewer,
  expected,
  origin,
}: {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
  expected: Expected | undefined;
  origin: string;
}) => (
  <>
    <ModelHeader model={model} viewer={viewer} page="/api" expected={expected} />
    {model.latest_version ? (
      <Calls model={model} version={model.latest_version} origin={origin} />
    ) : (
      <NoVersion model={model} viewer={viewer} />
    )}
  </>
);

function Calls({
  model,
  version,
  origin,
}: {
  model: DetailedModelRow;
  version: NonNullable<DetailedModelRow["latest_version"]>;
  origin: string;
}) {
  const name = `${model.owner.username}/${model.name}`;
  const { schemas, compatibilities, number } = version;
  const input = exampleInput(versionSchema(schemas, "input"));
  return (
    <>
      <p>
        These examples run the latest version; use <code>{`${name}:${number}`}</code> to pin this
        one. For the input, see{" "}
        <a href={modelAddress(model, `/versions/${number}`)}>version {number}</a>; for everything
        else, the <a href="/docs#createPrediction">API reference</a>.
      </p>
      <Code samples={codeSamples({ origin, model: name, input, compatibilities })} />
    </>
  );
}
