/**
 * Parses a body of multipart/form-data (RFC 7578) while it arrives, in pieces of any size. The content of a
 * part is passed on at once; the parser keeps only a head and what may be the beginning of a delimiter.
 *
 * No package keeps these bounds (2026-11): @remix-run/multipart-parser 0.16 collects a whole file in memory,
 * multipasta 0.2 loses the name of a field whose file name is not Latin-1, and @fastify/busboy 3.2 drops a
 * part with a long head, or with spaces behind its delimiter, without an error.
 */

export interface PartHead {
  name: string;
  /** The file's name; undefined for a field. */
  filename: string | undefined;
  /** The media type as it was sent. */
  type: string | undefined;
}

/** Parts one after the other: each begins with its head and ends before the next begins. */
export type PartEvent =
  | { kind: "head"; head: PartHead }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "end" };

export class MalformedForm extends Error {}

/** Browsers send fewer than 300 bytes. */
const MAX_HEAD_BYTES = 8 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const CRLF = encoder.encode("\r\n");
const BLANK_LINE = encoder.encode("\r\n\r\n");
const HYPHENS = encoder.encode("--");
const NOTHING = new Uint8Array();

/** The delimiter of a form; undefined when the media type is another. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, bare] =
    /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(
      contentType,
    ) ?? [];
  return quoted ?? bare;
}

export class MultipartParser {
  readonly #delimiter: Uint8Array;
  /** Bytes that are not parsed yet. The first delimiter needs no line end before it. */
  #rest: Uint8Array = CRLF;
  #state: "preamble" | "delimiter" | "head" | "body" | "done" = "preamble";

  constructor(boundary: string) {
    this.#delimiter = encoder.encode(`\r\n--${boundary}`);
  }

  /** @throws MalformedForm */
  *feed(chunk: Uint8Array): Generator<PartEvent> {
    this.#rest = this.#rest.length === 0 ? chunk : joined(this.#rest, chunk);
    for (;;) {
      if (this.#state === "done") {
        // The epilogue has no limit but that of the form.
        this.#rest = NOTHING;
        return;
      }
      if (this.#state === "delimiter") {
        if (!this.#afterDelimiter()) return;
      } else if (this.#state === "head") {
        const head = this.#head();
        if (!head) return;
        yield { kind: "head", head };
      } else {
        const inBody = this.#state === "body";
        const at = indexOf(this.#rest, this.#delimiter);
        const isWhole = at >= 0;
        const length = isWhole ? at : Math.max(0, this.#rest.length - this.#delimiter.length + 1);
        if (inBody && length > 0) yield { kind: "bytes", bytes: this.#rest.subarray(0, length) };
        this.#rest = this.#rest.subarray(isWhole ? at + this.#delimiter.length : length);
        if (!isWhole) return;
        this.#state = "delimiter";
        if (inBody) yield { kind: "end" };
      }
    }
  }

  /** Ends the form after its last bytes. @throws MalformedForm */
  end(): void {
    if (this.#state !== "done") throw new MalformedForm("it ends before its last delimiter");
  }

  /** @returns whether enough bytes have arrived to decide what follows */
  #afterDelimiter(): boolean {
    if (this.#rest.length < 2) return false;
    if (indexOf(this.#rest.subarray(0, 2), HYPHENS) === 0) {
      this.#state = "done";
      return true;
    }
    const at = indexOf(this.#rest, CRLF);
    const padding = this.#rest.subarray(0, at < 0 ? this.#rest.length - 1 : at);
    if (padding.length > MAX_HEAD_BYTES || padding.some((byte) => byte !== 0x20 && byte !== 0x09))
      throw new MalformedForm("a delimiter is not at the end of its line");
    if (at < 0) return false;
    // `#rest` keeps the line end, since a head may be empty.
    this.#rest = this.#rest.subarray(at);
    this.#state = "head";
    return true;
  }

  #head(): PartHead | undefined {
    const at = indexOf(this.#rest, BLANK_LINE);
    if ((at < 0 ? this.#rest.length : at) > MAX_HEAD_BYTES)
      throw new MalformedForm(`the head of a part has more than ${MAX_HEAD_BYTES} bytes`);
    if (at < 0) return undefined;
    const text = decoder.decode(this.#rest.subarray(0, at));
    this.#rest = this.#rest.subarray(at + BLANK_LINE.length);
    this.#state = "body";
    return headOf(text);
  }
}

function headOf(text: string): PartHead {
  const headers = new Map(
    text.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, Math.max(0, colon)).trim().toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const disposition = headers.get("content-disposition") ?? "";
  const name = parameter(disposition, "name");
  if (!/^form-data\s*;/i.test(disposition) || name === undefined)
    throw new MalformedForm("a part has no name");
  const filename = extended(disposition) ?? parameter(disposition, "filename");
  return { name, filename, type: headers.get("content-type") };
}

/** As HTML says that forms are written: in quotation marks, inside of which three characters are escaped. */
function parameter(header: string, name: string): string | undefined {
  const pattern = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;"]+))`, "i");
  const [, quoted, bare] = pattern.exec(header) ?? [];
  return (quoted ?? bare)?.replace(/%(22|0D|0A)/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Some clients send `filename*=UTF-8''…` beside `filename`. */
function extended(header: string): string | undefined {
  const [, text] = /;\s*filename\*=utf-8'[^']*'([^\s;]+)/i.exec(header) ?? [];
  try {
    return text && decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** A search for the first byte alone would call `indexOf` for each line end of a file. */
function indexOf(bytes: Uint8Array, pattern: Uint8Array): number {
  const [first = 0] = pattern;
  const last = bytes.length - pattern.length;
  for (let at = bytes.indexOf(first); at >= 0 && at <= last; ) {
    let length = 1;
    while (length < pattern.length && bytes[at + length] === pattern[length]) length += 1;
    if (length === pattern.length) return at;
    at += 1;
    if (bytes[at] !== first) at = bytes.indexOf(first, at);
  }
  return -1;
}
