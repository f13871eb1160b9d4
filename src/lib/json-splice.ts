/**
 * Puts JSON texts together without parsing them: inputs and outputs may be megabytes and are only
 * passed on. This is the one place that builds JSON by hand.
 */

/** A JSON text in pieces. A piece that is not text stands for a value that is stored elsewhere. */
export type JsonPieces<Reference = never> = (string | Reference)[];

/**
 * The object `members` with further members, whose values are JSON already.
 * @param members without those further ones; values that are undefined are left out
 */
export function spliceObject<Reference = never>(
  members: object,
  values: Record<string, string | JsonPieces<Reference>>,
): JsonPieces<Reference> {
  const head = JSON.stringify(members).slice(0, -1);
  const pieces: JsonPieces<Reference> = [head];
  let separator = head === "{" ? "" : ",";
  for (const [name, value] of Object.entries(values)) {
    pieces.push(`${separator}${JSON.stringify(name)}:`);
    for (const piece of [value].flat()) pieces.push(piece);
    separator = ",";
  }
  return joined([...pieces, "}"]);
}

/** The array of values that are JSON already, each text or a reference. */
export function spliceArray<Reference = never>(
  values: JsonPieces<Reference>,
): JsonPieces<Reference> {
  return joined(["[", ...values.flatMap((value, n) => (n === 0 ? [value] : [",", value])), "]"]);
}

/** As spliceObject, for texts alone: 0.6 µs instead of 3 µs. */
export function objectText(members: object, values: Record<string, string>): string {
  let text = JSON.stringify(members).slice(0, -1);
  for (const [name, value] of Object.entries(values)) {
    text += `${text === "{" ? "" : ","}${JSON.stringify(name)}:${value}`;
  }
  return `${text}}`;
}

/**
 * As objectText, for many objects that differ only in their last member: each event of a log is
 * written by one.
 */
export function objectWriter(members: object, name: string): (value: string) => string {
  const head = objectText(members, { [name]: "" }).slice(0, -1);
  return (value) => `${head}${value}}`;
}

/** As spliceArray, of texts alone. */
export const arrayText = (values: string[]): string => `[${values.join(",")}]`;

/** With neighboring texts joined. */
function joined<Reference>(pieces: JsonPieces<Reference>): JsonPieces<Reference> {
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
