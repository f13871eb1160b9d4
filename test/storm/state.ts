/** What is compared of predictions. */
import { createHash } from "node:crypto";
import type { PredictionWithIO } from "../../src/protocol/prediction.ts";
import { listed } from "../journey/support/listed.ts";

const FINAL: string[] = ["succeeded", "failed", "canceled"];

export const isFinal = ({ status }: { status: string }) => FINAL.includes(status);

/** Addresses have the origin that they were asked for at, and are signed anew each time. */
const ADDRESS = /https?:\/\/[^/"]+(\/[^"?]*)(?:\?[^"]*)?/g;

/** As text, with what may differ from one reader to the next left out. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value ?? null).replaceAll(ADDRESS, "$1");

/** Of all that may not change. */
export function digest(prediction: PredictionWithIO): string {
  const { output, data_removed } = prediction;
  const text = textOf([listed(prediction), output, data_removed]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
