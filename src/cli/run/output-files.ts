/** Saves the files of an output in a folder. */
import { constants, createWriteStream } from "node:fs";
import { access, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { refusal } from "../../../runner/src/control-plane/json-client.ts";
import { AddressPolicy } from "../../../runner/src/files/public-address.ts";
import { PublicFetch } from "../../../runner/src/files/public-fetch.ts";
import { webName } from "../../../runner/src/files/web-files.ts";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { open } from "../../../runner/src/lib/http-client.ts";
import { safeName } from "../../domain/files/file-name.ts";
import type { Json } from "../../protocol/common.ts";
import type { Access } from "../access.ts";
import { Failure } from "../failure.ts";
import { makeFolder, USER_AGENT } from "../folders.ts";

const PUBLIC = new PublicFetch(new AddressPolicy([]), undefined, USER_AGENT);

const FILE = /^\/v1\/files\/[0-9a-f-]{36}\/[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * The address of the file at the deployment, which redirects to its storage: a model's output chooses no
 * host. Undefined for any other text.
 */
export function fileUrl(text: string, access: Access): URL | undefined {
  const url = URL.parse(text);
  if (!url || !FILE.test(url.pathname) || !url.searchParams.has("signature")) return undefined;
  return new URL(`${access.url}${url.pathname}${url.search}`);
}

/** Error codes of the disk; other errors are the network's. */
const DISK_FAULTS = ["ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS"];

const isOfDisk = (error: unknown): boolean =>
  error instanceof Error && "code" in error && DISK_FAULTS.includes(String(error.code));

export class OutputFiles {
  /** Paths, in the order in which they were saved. */
  readonly saved: string[] = [];
  readonly #access: Access;
  readonly #folder: string;
  readonly #signal: AbortSignal;

  constructor(access: Access, folder: string, signal: AbortSignal) {
    this.#access = access;
    this.#folder = folder;
    this.#signal = signal;
  }

  /** Makes the folder, before a run that would be lost without it. @throws Failure */
  async prepare(): Promise<void> {
    try {
      await makeFolder(this.#folder);
      await access(this.#folder, constants.W_OK);
    } catch (error) {
      throw this.#unsaved(error);
    }
  }

  /** Saves each file that the value names. @returns the value with paths instead of URLs */
  async save(value: Json): Promise<Json> {
    if (typeof value === "string") {
      const url = fileUrl(value, this.#access);
      return url ? this.#download(url) : value;
    }
    if (Array.isArray(value)) {
      const items: Json[] = [];
      for (const item of value) items.push(await this.save(item));
      return items;
    }
    if (typeof value !== "object" || value === null) return value;
    const entries: [string, Json][] = [];
    for (const [key, part] of Object.entries(value)) entries.push([key, await this.save(part)]);
    return Object.fromEntries(entries);
  }

  /** Follows redirects to public addresses only: a deployment could name any host of this machine's network. */
  async #open(url: URL): Promise<IncomingMessage> {
    const response = await open(url, { signal: this.#signal });
    const { statusCode: status = 0, headers } = response;
    if (status === 200) return response;
    if (status < 300 || status > 399 || headers.location === undefined)
      throw await refusal(response);
    response.destroy();
    return (await PUBLIC.get(new URL(headers.location, url), undefined, this.#signal)).body;
  }

  async #download(url: URL): Promise<string> {
    const body = await this.#open(url);
    const { "content-disposition": disposition } = body.headers;
    const path = await this.#reserve(safeName(webName(url, disposition))).catch(
      (error: unknown) => {
        throw this.#unsaved(error);
      },
    );
    try {
      await pipeline(body, createWriteStream(path), { signal: this.#signal });
    } catch (error) {
      await rm(path, { force: true });
      throw isOfDisk(error) ? this.#unsaved(error) : error;
    }
    this.saved.push(path);
    return path;
  }

  #unsaved(error: unknown): Failure {
    return new Failure(
      `Can't save the output in ${this.#folder}: ${messageOf(error)}\nChoose another folder with --output.`,
    );
  }

  /** Makes an empty file: `out.png`, or `out-2.png` if there is one. */
  async #reserve(name: string): Promise<string> {
    await makeFolder(this.#folder);
    const extension = extname(name);
    const stem = name.slice(0, name.length - extension.length);
    for (let number = 1; ; number++) {
      const path = join(this.#folder, number === 1 ? name : `${stem}-${number}${extension}`);
      try {
        await writeFile(path, "", { flag: "wx" });
        return path;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
    }
  }
}
