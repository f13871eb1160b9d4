/** Vectors as numbers, and as the convention's base64: their float32, little-endian. */
import type { Json } from "../../protocol/common.ts";
import { Untranslatable } from "./translation.ts";

export type EmbeddingFormat = "float" | "base64";

const FLOAT_BYTES = 4;
/** A multiple of 3, so that the pieces' base64 joins up; and arguments enough for one call. */
const PIECE_BYTES = 24_576;

/** A vector in a form, from either of them. Throws Untranslatable when it is no vector. */
export function vectorIn(format: EmbeddingFormat, vector: Json | undefined): number[] | string {
  if (isVector(vector)) return format === "float" ? vector : base64Of(vector);
  if (typeof vector !== "string") {
    throw new Untranslatable(
      "An embedding that the model put out is neither a list of numbers nor base64.",
    );
  }
  const floats = floatsOf(vector);
  return format === "float" ? floats : vector;
}

/** By hand: 2,048 vectors have millions of numbers, and zod takes seconds for them in a Worker. */
export const isVector = (value: Json | undefined): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "number");

function base64Of(vector: number[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES));
  for (let n = 0; n < vector.length; n++) view.setFloat32(n * FLOAT_BYTES, vector[n] ?? 0, true);
  let text = "";
  for (let at = 0; at < view.byteLength; at += PIECE_BYTES) {
    // A list, since spreading a typed array takes ten times as long.
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
      throw new Untranslatable("An embedding that the model put out holds what is no number.");
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
    throw new Untranslatable("An embedding that the model put out as text is not base64.");
  }
  if (text.length === 0 || text.length % FLOAT_BYTES !== 0) {
    throw new Untranslatable(
      `An embedding that the model put out as base64 has ${text.length} bytes: float32 has ${FLOAT_BYTES} for each number.`,
    );
  }
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}
