/** Outputs of an example, as pages show them. */
import type { Json } from "../../protocol/common.ts";
import { isUrlKind, outputOf, outputsOf } from "../prediction-view/output-kind.ts";

/** A list with files is shown item by item; other strings are pieces of one text. */
export function exampleOutputs(output: Json, host: string) {
  const values = Array.isArray(output) ? output : [output];
  const hasFiles = values.some((value) => isUrlKind(outputOf(value, host)));
  return outputsOf(values, { display: hasFiles ? "list" : "text", host, whole: true });
}
