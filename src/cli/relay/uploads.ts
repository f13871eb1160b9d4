/** The uploads that clients make through the relay: each is one upload at the deployment, in chunks. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { BlobUpload } from "../registry/blob-upload.ts";
import type { RegistryClient } from "../registry/registry-client.ts";
import { RelayError } from "./error.ts";
import { piecesOf } from "./spool.ts";

const BEGIN = /^\/v2\/(.+)\/blobs\/uploads\/?$/;
const ONE = /^\/v2\/(.+)\/blobs\/uploads\/([\w-]+)$/;
const RANGE = /^(?:bytes )?(\d+)-(\d+)/;

export class RelayedUploads {
  readonly #client: RegistryClient;
  readonly #scratch: string;
  readonly #uploads = new Map<string, BlobUpload>();

  constructor(client: RegistryClient, scratch: string) {
    this.#client = client;
    this.#scratch = scratch;
  }

  /** @returns whether the request is about an upload */
  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean> {
    const [, repository] = BEGIN.exec(url.pathname) ?? [];
    // A mount has no body, and the deployment may do it.
    if (repository !== undefined && request.method === "POST" && !url.searchParams.has("mount")) {
      await this.#begin(request, response, repository, url.searchParams.get("digest"));
      return true;
    }
    const [, name = "", id = ""] = ONE.exec(url.pathname) ?? [];
    const upload = this.#uploads.get(id);
    if (!upload) return false;
    const place = { name, id, upload };
    switch (request.method) {
      case "PATCH":
        await this.#append(request, place);
        this.#answer(response, 202, place);
        return true;
      case "PUT":
        await this.#finish(request, response, place, url.searchParams.get("digest"));
        return true;
      case "GET":
        this.#answer(response, 204, place);
        return true;
      case "DELETE":
        await upload.cancel();
        this.#uploads.delete(id);
        response.writeHead(204).end();
        return true;
      default:
        return false;
    }
  }

  async #begin(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    digest: string | null,
  ): Promise<void> {
    const url = this.#client.urlOf(`/v2/${name}/blobs/uploads/`);
    const upload = await BlobUpload.begin(this.#client, url);
    const place = { name, id: randomUUID(), upload };
    this.#uploads.set(place.id, upload);
    if (digest === null) this.#answer(response, 202, place);
    else await this.#finish(request, response, place, digest);
  }

  async #append(request: IncomingMessage, { upload }: Place): Promise<void> {
    const [, first] = RANGE.exec(request.headers["content-range"] ?? "") ?? [];
    if (first !== undefined && Number(first) !== upload.offset)
      throw new RelayError(416, "BLOB_UPLOAD_INVALID", `The next byte is ${upload.offset}.`);
    // One piece is sent while the next one is read.
    let sending = Promise.resolve();
    try {
      for await (const piece of piecesOf(request, upload.chunkBytes, this.#scratch)) {
        await sending.catch(async (error: unknown) => {
          await piece.remove();
          throw error;
        });
        sending = upload.append(piece.content).finally(piece.remove);
        // It is waited for with the next piece.
        sending.catch(() => {});
      }
    } finally {
      await sending;
    }
  }

  async #finish(
    request: IncomingMessage,
    response: ServerResponse,
    place: Place,
    digest: string | null,
  ): Promise<void> {
    if (digest === null) throw new RelayError(400, "DIGEST_INVALID", "The digest is missing.");
    await this.#append(request, place);
    await place.upload.finish(digest);
    this.#uploads.delete(place.id);
    response
      .writeHead(201, {
        location: `/v2/${place.name}/blobs/${digest}`,
        "docker-content-digest": digest,
        "content-length": 0,
      })
      .end();
  }

  #answer(response: ServerResponse, status: number, { name, id, upload }: Place): void {
    response
      .writeHead(status, {
        location: `/v2/${name}/blobs/uploads/${id}`,
        // Docker demands it, and takes `0-0` for nothing.
        range: `0-${Math.max(upload.offset - 1, 0)}`,
        "docker-upload-uuid": id,
        ...(status !== 204 && { "content-length": 0 }),
      })
      .end();
  }
}

interface Place {
  /** The repository. */
  name: string;
  id: string;
  upload: BlobUpload;
}
