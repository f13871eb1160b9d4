/** The text of an output piece by piece: each is read where it lies, without what was before it. */
import { OUTPUT_PIECE } from "../../domain/predictions/display-limits.ts";
import { messageText } from "../../domain/predictions/message-text.ts";
import type { OutputCursor } from "../../domain/predictions/output-cursor.ts";
import { notFound } from "../../errors.ts";
import { stringPiece } from "../../lib/json-string-piece.ts";
import { readableJson } from "../../lib/readable-json.ts";
import type { OutputPage } from "../../objects/prediction/rpc-types.ts";
import type { Json } from "../../protocol/common.ts";
import type { StoredValue } from "../../protocol/event.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { predictionStub } from "./predictions.ts";

export interface OutputPiece {
  text: string;
  /** Undefined at the end. */
  next: OutputCursor | undefined;
}

/** A value that is no string is read as a whole up to here, in bytes; the JSON file has a larger one. */
const MAX_OTHER = 256 * 1024;

/**
 * Of a prediction that has ended.
 * @param between what separates strings: nothing if they are pieces of one text
 * @throws ProblemError not_found
 */
export async function readOutputPiece(
  services: Services,
  caller: Caller,
  id: string,
  { at, between }: { at: OutputCursor; between: string },
): Promise<OutputPiece> {
  const stub = await predictionStub(services, caller, id);
  const page = await stub.outputPage(at.after, OUTPUT_PIECE);
  if (!page) throw notFound(`The output of '${id}'`);
  const { stored, more } = page;
  if (!stored) return textsPiece(page, at, between);
  const piece = await valuePiece(services, id, stored.value, at.skip);
  const rest = piece.isEnd ? { after: stored.id, skip: 0 } : { ...at, skip: at.skip + piece.size };
  return { text: piece.text, next: piece.isEnd && !more ? undefined : rest };
}

/** Values of the log. A string that exceeds the piece goes on in the next. */
function textsPiece({ texts, more }: OutputPage, at: OutputCursor, between: string): OutputPiece {
  let text = "";
  let last = at.after;
  for (const [n, { id, json }] of texts.entries()) {
    const from = n === 0 ? at.skip : 0;
    const value: Json = JSON.parse(json);
    const whole = textOf(value);
    const cut = whole.slice(from, from + OUTPUT_PIECE);
    const isCut = from + cut.length < whole.length;
    const part = isCut ? cut.replace(/[\uD800-\uDBFF]$/, "") : cut;
    text += (n === 0 ? "" : between) + part;
    if (isCut) return { text, next: { after: last, skip: from + part.length } };
    last = id;
  }
  return { text, next: more ? { after: last, skip: 0 } : undefined };
}

function textOf(value: Json): string {
  if (typeof value === "string") return value;
  return value === null ? "" : (messageText(value, false) ?? `${readableJson(value)}\n`);
}

/** A value of its own file, of which a range is read. */
async function valuePiece(
  { env }: Services,
  id: string,
  { name, size }: StoredValue,
  skip: number,
): Promise<{ text: string; size: number; isEnd: boolean }> {
  if (skip >= size) throw nowhere();
  const key = valueKey(id, name);
  const read = async (offset: number, length: number) => {
    const file = await getFile(env.FILES, key, { range: { offset, length } });
    if (!file) throw nowhere();
    return new Uint8Array(await file.arrayBuffer());
  };
  const bytes = await read(skip, Math.min(OUTPUT_PIECE, size - skip));
  const isEnd = skip + bytes.length >= size;
  if (skip > 0) return { ...stringPiece(bytes, isEnd), isEnd };
  if (bytes[0] === QUOTE) {
    const piece = stringPiece(bytes.subarray(1), isEnd);
    return { ...piece, size: piece.size + 1, isEnd };
  }
  if (size > MAX_OTHER) return { text: TOO_LARGE, size, isEnd: true };
  const rest = isEnd ? new Uint8Array() : await read(bytes.length, size - bytes.length);
  const json = await new Blob([bytes, rest]).text();
  // Indented, it could be ten times as long.
  return { text: isEnd ? textOf(JSON.parse(json)) : `${json}\n`, size, isEnd: true };
}

/** Somebody has written the address by hand, or the file is gone. */
const nowhere = () => notFound("This part of the output");

const QUOTE = 0x22;
const TOO_LARGE = "[A value that is no text, and too large for a page: the JSON file has it.]\n";
