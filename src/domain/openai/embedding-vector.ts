/** Vectors as numbers, and as the convention's base64 of little-endian float32. */
import { numberIn } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { TranslationFailed } from "./translation.ts";

export type EmbeddingFormat = "float" | "base64";

const FLOAT_BYTES = 4;
/**
 * The bytes of a piece: a multiple of 3, so that the pieces' base64 can be joined; not too many arguments for
 * one call.
 */
const PIECE_BYTES = 24_576;

/**
 * Converts a vector of parsed-log.ts from either format.
 * @throws TranslationFailed when the value is not a vector
 */
export function convertVector(format: EmbeddingFormat, vector: Json | undefined): Json[] | string {
  if (isVector(vector)) return format === "float" ? vector : base64Of(vector);
  if (typeof vector !== "string") {
    throw new TranslationFailed(
      "An embedding in the model's output is neither a list of numbers nor base64.",
    );
  }
  const floats = floatsOf(vector);
  return format === "float" ? floats : vector;
}

/**
 * Whether a value is a vector. The check does not use zod, which takes seconds for the millions of numbers of
 * 2,048 vectors in a Worker.
 */
export const isVector = (value: Json | undefined): value is Json[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => numberIn(one) !== undefined);

function base64Of(vector: Json[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES));
  for (let n = 0; n < vector.length; n++)
    view.setFloat32(n * FLOAT_BYTES, numberIn(vector[n]) ?? 0, true);
  let text = "";
  for (let at = 0; at < view.byteLength; at += PIECE_BYTES) {
    // `bytes` is an array, because spreading a typed array takes ten times as long.
    const bytes = new Array<number>(Math.min(PIECE_BYTES, view.byteLength - at));
    for (let n = 0; n < bytes.length; n++) bytes[n] = view.getUint8(at + n);
    text += btoa(String.fromCharCode(...bytes));
  }
  return text;
}

function floatsOf(base64: string): number[] {
  const bytes = bytesOf(base64);
  const view = new DataView(bytes.buffer);
  const floats = new Array<number>(bytes.length / FLOAT_BYTES);
  for (let n = 0; n < floats.length; n++) {
    const float = view.getFloat32(n * FLOAT_BYTES, true);
    if (!Number.isFinite(float)) {
      throw new TranslationFailed(
        "An embedding in the model's output contains a value that is not a number.",
      );
    }
    floats[n] = float;
  }
  return floats;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  let text = "";
  try {
    text = atob(base64);
  } catch {
    throw new TranslationFailed(
      "An embedding in the model's output is a string that is not base64.",
    );
  }
  if (text.length === 0 || text.length % FLOAT_BYTES !== 0) {
    throw new TranslationFailed(
      `A base64 embedding in the model's output has ${text.length} bytes, which is not a multiple of ${FLOAT_BYTES} (float32).`,
    );
  }
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}
