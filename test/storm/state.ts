/** The parts of predictions that are compared. */
import { createHash } from "node:crypto";
import type { PredictionWithIO } from "../../src/protocol/prediction.ts";
import { listed } from "../journey/support/listed.ts";

const FINAL: string[] = ["succeeded", "failed", "canceled"];

export const isFinal = ({ status }: { status: string }) => FINAL.includes(status);

/** Addresses have the origin of the request, and are signed again for each. */
const ADDRESS = /https?:\/\/[^/"]+(\/[^"?]*)(?:\?[^"]*)?/g;

/** Returns a value as text, without the parts that may differ between readers. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value ?? null).replaceAll(ADDRESS, "$1");

/** Returns a hash of all parts that may not change. */
export function digest(prediction: PredictionWithIO): string {
  const { output, data_removed } = prediction;
  const text = textOf([listed(prediction), output, data_removed]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
