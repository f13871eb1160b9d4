/** The body of a call as the form that servers take: fields as text, and files as they are stored. */
import { decodeDataUri } from "../../domain/files/decoded-data-uri.ts";
import { fileFields } from "../../domain/openai/call.ts";
import { unmarked } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import { parseFailure } from "./error.ts";

/** The body of a call as a form. */
export interface Form {
  type: string;
  /** The length in bytes: not every server accepts a body without a length. */
  length: number;
  /** Reads it from its beginning: a call may be sent again. */
  content(): AsyncIterable<Uint8Array>;
}

/** A file of an input. */
export interface InputFile {
  name: string;
  mime_type: string;
  size: number;
  content(): AsyncIterable<Uint8Array>;
}

/** Returns the file that a text of the input stands for. */
export type FindFile = (text: string) => InputFile | undefined;

interface Part {
  head: Uint8Array;
  size: number;
  content(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const CRLF = "\r\n";

/**
 * The limit of a form's fields, in characters without files: a body has 10 MiB. A form repeats the name of a
 * list for each of its items, so that a small body could become a form of terabytes.
 */
const MAX_FIELDS_CHARS = 16 * 1024 ** 2;
const MAX_FIELDS = 10_000;

/** Undefined if servers take JSON for the call. @throws ServerFailure for an invalid file, too many fields */
export function formOf(
  call: OpenAiCall,
  input: Record<string, Json>,
  find: FindFile,
): Form | undefined {
  const names = fileFields(call);
  if (!names) return undefined;
  const boundary = `auspex-${crypto.randomUUID()}`;
  const parts = boundedFields(input).map(({ name, text, of }) => {
    const file = names.includes(of) ? fileOf(of, text, find) : undefined;
    return file ? filePart(boundary, name, file) : textPart(boundary, name, text);
  });
  const end = encode(`--${boundary}--${CRLF}`);
  const sizes = parts.map(({ head, size }) => head.length + size + CRLF.length);
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    length: sizes.reduce((sum, size) => sum + size, end.length),
    content: () => contentOf(parts, end),
  };
}

/** @param of the field of the input that it is, or is in */
function boundedFields(input: Record<string, Json>): { name: string; text: string; of: string }[] {
  const fields: ReturnType<typeof boundedFields> = [];
  let chars = 0;
  for (const [of, value] of Object.entries(input)) {
    for (const { name, text } of fieldsOf(of, value)) {
      chars += name.length + text.length;
      if (chars > MAX_FIELDS_CHARS || fields.length === MAX_FIELDS)
        throw parseFailure({ message: TOO_MUCH, param: of }, 413);
      fields.push({ name, text, of });
    }
  }
  return fields;
}

const TOO_MUCH = "The request is too large for the form that the model accepts. Omit some fields.";

/** Lists and objects are written as official clients do. */
function* fieldsOf(name: string, value: Json): Generator<{ name: string; text: string }> {
  if (Array.isArray(value)) for (const item of value) yield* fieldsOf(`${name}[]`, item);
  else if (isObject(value))
    for (const [key, item] of Object.entries(value))
      yield* fieldsOf(`${name}[${unmarked(key)}]`, item);
  else if (value !== null)
    yield { name, text: typeof value === "string" ? unmarked(value) : String(value) };
}

/** Returns a file of the input, or one that is a data URI. @throws ServerFailure */
function fileOf(field: string, text: string, find: FindFile): InputFile {
  const file = find(text);
  if (file) return file;
  const inline = decodeDataUri(text);
  if (!inline) {
    const message = `'${field}' is not a file. Send a file in a form, or the URL of an upload.`;
    throw parseFailure({ message, param: field }, 400);
  }
  const { bytes, ...facts } = inline;
  return { ...facts, size: bytes.length, content: () => once(bytes) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function filePart(boundary: string, name: string, file: InputFile): Part {
  const disposition = `name="${quoted(name)}"; filename="${quoted(file.name)}"`;
  const { size, content } = file;
  return { head: headOf(boundary, disposition, file.mime_type), size, content };
}

function textPart(boundary: string, name: string, text: string): Part {
  const bytes = encode(text);
  const head = headOf(boundary, `name="${quoted(name)}"`);
  return { head, size: bytes.length, content: () => [bytes] };
}

const encoder = new TextEncoder();
const encode = (text: string) => encoder.encode(text);

const headOf = (boundary: string, disposition: string, type?: string) =>
  encode(
    [
      `--${boundary}`,
      `Content-Disposition: form-data; ${disposition}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
      CRLF,
    ].join(CRLF),
  );

/** As HTML has it. */
const quoted = (text: string) => text.replace(/["\r\n]/g, (sign) => encodeURIComponent(sign));

async function* contentOf(parts: Part[], end: Uint8Array): AsyncGenerator<Uint8Array> {
  for (const { head, size, content } of parts) {
    yield head;
    if (size > 0) yield* content();
    yield encode(CRLF);
  }
  yield end;
}
