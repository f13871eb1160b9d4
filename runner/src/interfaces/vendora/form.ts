/** The body of a call as the form that servers take: fields as text, and files that are read while they are sent. */
import { randomUUID } from "node:crypto";
import { get, type IncomingMessage } from "node:http";
import { get as getSecure } from "node:https";
import type { Json } from "../../../../src/protocol/common.ts";
import type { VendoraCall } from "../../../../src/protocol/runner.ts";
import { external, internal } from "../../containers/failure.ts";
import { decodeDataUri } from "../../files/data-uri.ts";

/** By call: the fields that are files. */
const FILES: { [Call in VendoraCall]?: string[] } = { images_edits: ["image", "mask"] };

export interface Form {
  type: string;
  body: AsyncIterable<Uint8Array>;
}

/** Undefined for a call whose servers take JSON. */
export function formOf(
  call: VendoraCall,
  input: Record<string, Json>,
  signal: AbortSignal,
): Form | undefined {
  const files = FILES[call];
  if (!files) return undefined;
  const boundary = `auspex-${randomUUID()}`;
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: parts(boundary, files, input, signal),
  };
}

async function* parts(
  boundary: string,
  files: string[],
  input: Record<string, Json>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const begin = (disposition: string, type?: string) =>
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${type ? `Content-Type: ${type}\r\n` : ""}\r\n`,
    );
  for (const [field, value] of Object.entries(input)) {
    if (value === null) continue;
    const isList = Array.isArray(value);
    for (const one of isList ? value : [value]) {
      const name = `name="${escaped(isList ? `${field}[]` : field)}"`;
      if (files.includes(field) && typeof one === "string") {
        const file = await open(one, signal);
        yield begin(`${name}; filename="${escaped(file.name)}"`, file.type);
        yield* file.content;
      } else {
        yield begin(name);
        yield Buffer.from(typeof one === "string" ? one : JSON.stringify(one));
      }
      yield Buffer.from("\r\n");
    }
  }
  yield Buffer.from(`--${boundary}--\r\n`);
}

interface OpenFile {
  name: string;
  type: string;
  content: AsyncIterable<Uint8Array>;
}

/** @param address of this runner, which has fetched the file, or a short data URI */
async function open(address: string, signal: AbortSignal): Promise<OpenFile> {
  const inline = address.startsWith("data:") ? decodeDataUri(address) : undefined;
  if (inline) return { name: inline.name, type: inline.mime_type, content: one(inline.bytes) };
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) throw external("a file of the input is no URL");
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === "https:" ? getSecure : get)(url, { signal }, resolve);
    request.on("error", reject);
  });
  if (answer.statusCode !== 200) {
    answer.destroy();
    throw internal(`a file of the input was answered with ${answer.statusCode}`);
  }
  const name = decodeURIComponent(url.pathname.split("/").at(-1) || "file");
  return {
    name,
    type: answer.headers["content-type"] ?? "application/octet-stream",
    content: answer,
  };
}

async function* one(bytes: Uint8Array) {
  yield bytes;
}

const escaped = (text: string) =>
  text.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
