/** The files of a control plane on loopback: what runners read, store and send in parts. */
import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { completeUpload, createUpload, partLength } from "../../../src/protocol/upload.ts";

export interface FakeFile {
  lease: string;
  name: string;
  mime_type: string;
  bytes: Buffer;
}

interface FakeUpload extends Omit<FakeFile, "bytes"> {
  size: number;
  parts: Map<number, Buffer>;
}

/** A status to answer with, or `cut`: the connection closes before there is an answer. */
type Trouble = number | "cut";

const FILES = "/v1/runner/files";
const UPLOADS = "/v1/runner/uploads";
const VALUES = "/v1/runner/values";
const PARTS = "/parts";

export class FakeFiles {
  /** Files at GET /v1/runner/files/{key}. */
  readonly inputs = new Map<string, { mime_type: string; bytes: Buffer }>();
  /** Stored files by their address. */
  readonly stored = new Map<string, FakeFile>();
  /** JSON texts of values, by name. */
  readonly values = new Map<string, string>();
  /** Method and path of every request, also of those that failed. */
  readonly requests: string[] = [];
  partSize = 5 * 1024 * 1024;
  /** Called once the whole request has come; it may wait, and returns undefined for no failure. */
  trouble: (request: IncomingMessage) => Trouble | undefined | Promise<Trouble | undefined> = () =>
    undefined;
  readonly #uploads = new Map<string, FakeUpload>();
  readonly #base: () => string;

  constructor(base: () => string) {
    this.#base = base;
  }

  /** Returns whether the request was for this file store. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { pathname, searchParams } = new URL(request.url ?? "", this.#base());
    if (![FILES, UPLOADS, VALUES, PARTS].some((path) => pathname.startsWith(path))) return false;
    const call = `${request.method} ${pathname}`;
    this.requests.push(call);
    const bytes = await buffer(request);
    const trouble = await this.trouble(request);
    const reply = (status: number, body: unknown = {}, headers = {}) =>
      response.writeHead(status, headers).end(body instanceof Buffer ? body : JSON.stringify(body));
    if (trouble === "cut") response.destroy();
    else if (trouble !== undefined) reply(trouble, { title: "Trouble", status: trouble });
    else this.#answer(call, { request, bytes, searchParams, reply });
    return true;
  }

  /** Forgets everything, and has no trouble any more. */
  reset(): void {
    for (const one of [this.inputs, this.stored, this.values, this.#uploads]) one.clear();
    this.requests.length = 0;
    this.trouble = () => undefined;
  }

  /** Returns the addresses of files that were stored under a name. */
  named(name: string): string[] {
    return [...this.stored].filter(([, file]) => file.name === name).map(([url]) => url);
  }

  #answer(call: string, { request, bytes, searchParams, reply }: Exchange): unknown {
    const lease = String(request.headers[LEASE_HEADER]);
    const [, id = "", rest = ""] = /^\w+ (?:\/v1\/runner)?\/\w+\/([^/]+)\/?(.*)$/.exec(call) ?? [];
    if (call === `POST ${FILES}`) {
      const mime_type = String(request.headers["content-type"]);
      return reply(
        200,
        this.#store({ lease, name: searchParams.get("name") ?? "", mime_type, bytes }),
      );
    }
    if (call.startsWith(`GET ${FILES}/`)) {
      const input = this.inputs.get(decodeURIComponent(call.slice(`GET ${FILES}/`.length)));
      if (!input) return reply(404, { title: "Not found", status: 404 });
      return reply(200, input.bytes, { "content-type": input.mime_type });
    }
    if (call === `POST ${UPLOADS}`) return reply(200, this.#begin(lease, bytes));
    if (call === `POST ${VALUES}`) {
      const name = randomUUID();
      this.values.set(name, bytes.toString());
      return reply(200, { name });
    }
    const upload = this.#uploads.get(id);
    if (!upload) return reply(404, { title: "Not found", status: 404 });
    if (rest === "complete") return this.#complete(upload, bytes, reply);
    const number = Number(rest);
    if (bytes.length !== partLength(upload.size, this.partSize, number)) {
      return reply(400, { title: "Wrong length", status: 400 });
    }
    upload.parts.set(number, bytes);
    return reply(200, {}, { etag: etagOf(bytes) });
  }

  #store(file: FakeFile): { url: string } {
    const url = `${this.#base()}/v1/files/${randomUUID()}/${encodeURIComponent(file.name)}`;
    this.stored.set(url, file);
    return { url };
  }

  #begin(lease: string, body: Buffer) {
    const { size, mime_type, name = "" } = createUpload.parse(JSON.parse(body.toString()));
    const id = randomUUID();
    this.#uploads.set(id, { lease, size, mime_type, name, parts: new Map() });
    const count = Math.ceil(size / this.partSize);
    const urls = Array.from({ length: count }, (_, i) => `${this.#base()}${PARTS}/${id}/${i + 1}`);
    return { id, part_size: this.partSize, urls };
  }

  #complete({ parts, size, ...file }: FakeUpload, body: Buffer, reply: Exchange["reply"]): unknown {
    const { etags } = completeUpload.parse(JSON.parse(body.toString()));
    const came = etags.map((etag, index) => {
      const part = parts.get(index + 1);
      return part && etagOf(part) === etag ? part : Buffer.alloc(0);
    });
    const bytes = Buffer.concat(came);
    if (bytes.length !== size) return reply(409, { title: "Parts are missing", status: 409 });
    return reply(200, this.#store({ ...file, bytes }));
  }
}

interface Exchange {
  request: IncomingMessage;
  bytes: Buffer;
  searchParams: URLSearchParams;
  reply: (status: number, body?: unknown, headers?: Record<string, string>) => unknown;
}

const etagOf = (bytes: Buffer) => `"${createHash("md5").update(bytes).digest("hex")}"`;
