/** The page of a prediction. */
import type { Visitor } from "./visitor.ts";

export const badge = ({ page }: Visitor, status: string) =>
  page.locator(".prediction-view .status").getByText(status, { exact: true }).waitFor();

export const outputIn = ({ page }: Visitor) => page.locator("[data-output]").innerText();
