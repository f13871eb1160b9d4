/** The page of a prediction. */
import type { Client } from "../../../src/dev/client.ts";
import { prediction } from "../../../src/protocol/prediction.ts";
import { OPERATOR } from "./site.ts";
import type { Visitor } from "./visitor.ts";

export const badge = ({ page }: Visitor, status: string) =>
  page.locator(".prediction-view .status").getByText(status, { exact: true }).waitFor();

export const outputIn = ({ page }: Visitor) => page.locator("[data-output]").innerText();

/** Creates a prediction of one of the operator's models. @returns its ID */
export async function createWith(client: Client, model: string, input: object): Promise<string> {
  const body = { model: `${OPERATOR}/${model}`, input };
  return (await client.call(prediction, "POST", "/predictions", { body })).id;
}
