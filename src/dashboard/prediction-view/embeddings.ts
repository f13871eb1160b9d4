/** Embeddings among outputs: lists of numbers, or what OpenAI's API answers. */
import { numberIn } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import { oneLine } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";

export type Vector = number[];

/** Shorter rows of numbers may be anything, such as the corners of boxes. */
const LEAST_DIMENSION = 8;
/** A list of numbers alone is shown as one unless it is as long as those of models are. */
const LEAST_ALONE = 64;

/** undefined for any other value. */
export function embeddingsIn(value: Json): Vector[] | undefined {
  const alone = vectorOf(value);
  if (alone) return alone.length >= LEAST_ALONE ? [alone] : undefined;
  if (Array.isArray(value)) {
    const rows = vectorsOf(value, (one) => one);
    if (rows) return (rows[0]?.length ?? 0) >= LEAST_DIMENSION ? rows : undefined;
    return vectorsOf(value, embeddingOf);
  }
  if (!isObject(value)) return undefined;
  if (Array.isArray(value.data)) return vectorsOf(value.data, embeddingOf);
  const one = embeddingOf(value);
  return one === undefined ? undefined : vectorsOf([one], (vector) => vector);
}

/** undefined unless all are vectors of the same dimension. */
function vectorsOf(items: Json[], read: (one: Json) => Json | undefined): Vector[] | undefined {
  const vectors: Vector[] = [];
  for (const item of items) {
    const vector = vectorOf(read(item));
    if (!vector || vector.length !== (vectors[0] ?? vector).length) return undefined;
    vectors.push(vector);
  }
  return vectors.length > 0 ? vectors : undefined;
}

/** @param value of parseExact */
function vectorOf(value: Json | undefined): Vector | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const vector: Vector = [];
  for (const one of value) {
    const number = numberIn(one);
    if (number === undefined) return undefined;
    vector.push(number);
  }
  return vector;
}

function embeddingOf(value: Json): Json | undefined {
  if (!isObject(value)) return undefined;
  const { embedding } = value;
  return typeof embedding === "string" ? decoded(embedding) : embedding;
}

/** `encoding_format: "base64"`: 32-bit floats, little-endian. */
function decoded(base64: string): Vector | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 4 }, (_, n) => view.getFloat32(4 * n, true));
  } catch {
    return undefined;
  }
}

const MAX_NAME = 60;

/** The first list of as many texts in the input, which the vectors are of; each text is cut. */
export function namesOf(vectors: Vector[], input: Json | undefined): string[] | undefined {
  const lists = Object.values(isObject(input) ? input : {}).map(textsIn);
  const texts = lists.find(({ length }) => length === vectors.length);
  return texts?.map((text) => oneLine(text, MAX_NAME));
}

function textsIn(value: Json): string[] {
  const all = Array.isArray(value) ? value : [];
  const texts = all.filter((one) => typeof one === "string");
  return texts.length === all.length ? texts : [];
}

export const norm = (vector: Vector): number =>
  Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0));

/** 0 for the same direction, 1 for a right angle, 2 for the opposite; undefined for a vector of zeros. */
export function cosineDistance(a: Vector, b: Vector): number | undefined {
  const lengths = norm(a) * norm(b);
  if (lengths === 0 || !Number.isFinite(lengths)) return undefined;
  const product = a.reduce((sum, one, n) => sum + one * (b[n] ?? 0), 0);
  return Math.min(2, Math.max(0, 1 - product / lengths));
}

export function countText(vectors: Vector[]): string {
  const [first = []] = vectors;
  const count = vectors.length === 1 ? "1 embedding" : `${vectors.length} embeddings`;
  return `${count}, ${first.length} dimensions`;
}
