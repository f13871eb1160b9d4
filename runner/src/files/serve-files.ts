/** Serves files to a container, whole or in ranges, as often as it wants. */
import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { parseRange } from "../../../src/domain/files/byte-range.ts";
import { type Handler, refuse } from "../lib/callback-server.ts";

export interface ServedFile {
  path: string;
  /** The name that is the last part of the URL. */
  name: string;
  /** Bytes. */
  size: number;
  /** A text that is UTF-8 says so. */
  mime_type: string;
}

const PATH = /^\/(\d{1,9})\/([\w.-]+)(?:\?.*)?$/;
/** Types that are valid in a header. */
const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+(?: *;[ -~]*)?$/;

/** @param end aborts the transfers */
export const serveFiles =
  (files: ServedFile[], end: AbortSignal): Handler =>
  async (request, response, rest) => {
    const [, index, name] = PATH.exec(rest) ?? [];
    const file = files[Number(index)];
    if (file === undefined || file.name !== name) return refuse(request, response, 404);
    if (request.method !== "GET" && request.method !== "HEAD") {
      return refuse(request, response, 405);
    }
    await send(file, request, response, end);
  };

async function send(
  { path, size, mime_type }: ServedFile,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  end: AbortSignal,
): Promise<void> {
  // Files have no validator for If-Range. Ranges are for GET only.
  const ranged = method === "GET" && headers["if-range"] === undefined;
  const range = ranged ? parseRange(headers.range, size) : undefined;
  response.setHeader("accept-ranges", "bytes");
  if (range === "unsatisfiable") {
    const about = { "content-range": `bytes */${size}`, "content-length": 0 };
    response.writeHead(416, about).end();
    return;
  }
  response.setHeader("content-type", MIME_TYPE.test(mime_type) ? mime_type : UNKNOWN_TYPE);
  if (range) response.setHeader("content-range", `bytes ${range.first}-${range.last}/${size}`);
  response.setHeader("content-length", range ? range.last - range.first + 1 : size);
  response.writeHead(range ? 206 : 200);
  if (method === "HEAD" || size === 0) {
    response.end();
    return;
  }
  const part = range && { start: range.first, end: range.last };
  await pipeline(createReadStream(path, part), response, { signal: end });
}

const UNKNOWN_TYPE = "application/octet-stream";
