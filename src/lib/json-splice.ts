/**
 * Puts JSON texts together without parsing them: inputs and outputs may be megabytes and are only
 * passed on. This is the one place that builds JSON by hand.
 */

/** A JSON text in pieces. A piece that is not text stands for a value that is stored elsewhere. */
export type JsonPieces<Reference = never> = (string | Reference)[];

/**
 * The object `members` with further members, whose values are JSON already: piece by piece, each made
 * when it is asked for.
 * @param members without those further ones; values that are undefined are left out
 */
export function* objectPieces<Reference = never>(
  members: object,
  values: Record<string, Iterable<string | Reference>>,
): Generator<string | Reference> {
  const head = JSON.stringify(members).slice(0, -1);
  yield head;
  let separator = head === "{" ? "" : ",";
  for (const [name, pieces] of Object.entries(values)) {
    yield `${separator}${JSON.stringify(name)}:`;
    yield* pieces;
    separator = ",";
  }
  yield "}";
}

/**
 * The array of values that are JSON already, each text or a reference; the same way.
 * @param empty what there is instead of an array without any
 */
export function* arrayPieces<Reference = never>(
  values: Iterable<string | Reference>,
  empty = "[]",
): Generator<string | Reference> {
  let separator = "[";
  for (const value of values) {
    yield separator;
    yield value;
    separator = ",";
  }
  yield separator === "[" ? empty : "]";
}

/** A text of JSON whose parts come one by one. */
export function* textPieces(parts: Iterable<string>): Generator<string> {
  yield '"';
  for (const part of parts) yield JSON.stringify(part).slice(1, -1);
  yield '"';
}

/** `objectText` is `objectPieces` for texts alone: 0.6 µs instead of 3 µs. */
export function objectText(members: object, values: Record<string, string>): string {
  let text = JSON.stringify(members).slice(0, -1);
  for (const [name, value] of Object.entries(values)) {
    text += `${text === "{" ? "" : ","}${JSON.stringify(name)}:${value}`;
  }
  return `${text}}`;
}

/**
 * `objectText` for many objects that differ only in their last member: each event of a log is
 * written by one.
 */
export function objectWriter(members: object, name: string): (value: string) => string {
  const head = objectText(members, { [name]: "" }).slice(0, -1);
  return (value) => `${head}${value}}`;
}

/** `arrayPieces` of texts alone. */
export const arrayText = (values: string[]): string => `[${values.join(",")}]`;

export function joined<Reference>(pieces: Iterable<string | Reference>): JsonPieces<Reference> {
  const all: JsonPieces<Reference> = [];
  let texts: string[] = [];
  for (const piece of pieces) {
    if (typeof piece === "string") texts.push(piece);
    else {
      all.push(texts.join(""), piece);
      texts = [];
    }
  }
  all.push(texts.join(""));
  return all;
}
