/** The playground of a chat model, as a visitor uses it. */
import type { Client } from "../../../src/dev/client.ts";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import { OPERATOR } from "./site.ts";
import type { Visitor } from "./visitor.ts";

export const playground = (model: string) => `/models/${OPERATOR}/${model}`;

export const messageBox = ({ page }: Visitor) => page.getByRole("textbox", { name: "Message" });
export const answers = ({ page }: Visitor) => page.locator(".turn.assistant");

/** Sends a message; resolves when its answer is whole. */
export async function say(visitor: Visitor, text: string): Promise<void> {
  const before = await answers(visitor).count();
  await messageBox(visitor).fill(text);
  await visitor.page.keyboard.press("Enter");
  await answers(visitor).nth(before).and(visitor.page.locator('[aria-busy="false"]')).waitFor();
}

/** Returns the input of the prediction that wrote the last answer. @param client the visitor's */
export async function lastInput(client: Client, visitor: Visitor): Promise<unknown> {
  const link = answers(visitor).last().getByRole("link", { name: "Prediction" });
  const path = await link.getAttribute("href");
  return (await client.call(predictionWithIO, "GET", path ?? "")).input;
}
