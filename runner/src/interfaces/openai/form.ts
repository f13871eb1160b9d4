/** The body of a call as the form that servers take: fields as text, and files that are read from disk. */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { fileFields } from "../../../../src/domain/openai/call.ts";
import { unmarked } from "../../../../src/lib/exact-json.ts";
import { isObject } from "../../../../src/lib/json.ts";
import type { Json } from "../../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../../src/protocol/runner.ts";
import { parseFailure } from "../../../../src/run/openai/error.ts";
import { decodeDataUri } from "../../files/output-references.ts";
import type { ServedFile } from "../../files/serve-files.ts";
import type { Form } from "../container-client.ts";
import type { FilesByUrl } from "../interface.ts";

type FormFile = Pick<ServedFile, "name" | "mime_type" | "size"> & { from: Buffer | string };

interface Part {
  head: Buffer;
  size: number;
  /** Bytes, or the path of a file. */
  from: Buffer | string;
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
  files: FilesByUrl,
): Form | undefined {
  const names = fileFields(call);
  if (!names) return undefined;
  const boundary = `auspex-${randomUUID()}`;
  const parts = boundedFields(input).map(({ name, text, of }) => {
    const file = names.includes(of) ? fileOf(of, text, files) : undefined;
    return file ? filePart(boundary, name, file) : textPart(boundary, name, text);
  });
  const end = Buffer.from(`--${boundary}--${CRLF}`);
  const sizes = parts.map(({ head, size }) => head.length + size + CRLF.length);
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    length: sizes.reduce((sum, size) => sum + size, end.length),
    content: contentOf(parts, end),
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

/** Returns a file that this runner has fetched, or that is a data URI. @throws ServerFailure */
function fileOf(field: string, text: string, files: FilesByUrl): FormFile {
  const file = files.get(text);
  if (file) return { ...file, from: file.path };
  const inline = decodeDataUri(text);
  if (!inline) {
    const message = `'${field}' is not a file. Send a file in a form, or the URL of an upload.`;
    throw parseFailure({ message, param: field }, 400);
  }
  return { ...inline, size: inline.bytes.length, from: inline.bytes };
}

function filePart(boundary: string, name: string, { size, from, ...file }: FormFile): Part {
  const disposition = `name="${quoted(name)}"; filename="${quoted(file.name)}"`;
  return { head: headOf(boundary, disposition, file.mime_type), size, from };
}

function textPart(boundary: string, name: string, text: string): Part {
  const from = Buffer.from(text);
  return { head: headOf(boundary, `name="${quoted(name)}"`), size: from.length, from };
}

const headOf = (boundary: string, disposition: string, type?: string) =>
  Buffer.from(
    [
      `--${boundary}`,
      `Content-Disposition: form-data; ${disposition}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
      CRLF,
    ].join(CRLF),
  );

/** As HTML has it. */
const quoted = (text: string) => text.replace(/["\r\n]/g, (sign) => encodeURIComponent(sign));

async function* contentOf(parts: Part[], end: Buffer): AsyncGenerator<Uint8Array> {
  for (const { head, size, from } of parts) {
    yield head;
    if (typeof from !== "string") yield from;
    else if (size > 0) yield* createReadStream(from);
    yield Buffer.from(CRLF);
  }
  yield end;
}
