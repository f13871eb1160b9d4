/**
 * The files of a form, which go to R2 while they arrive. Small files are kept until the prediction is
 * created, as data URIs are. Longer files are stored in parts, which become a file when the prediction is
 * created. Incomplete files are aborted; if that fails, R2 aborts them after 7 days.
 */
import { safeName, sentName, shownName } from "../../domain/files/file-name.ts";
import { imageTypeOf } from "../../domain/files/file-type.ts";
import { newPredictionUuid } from "../../domain/predictions/prediction-id.ts";
import { hex } from "../../lib/hex.ts";
import type { PartHead } from "../../lib/multipart.ts";
import { createUpload } from "../../protocol/upload.ts";
import { abortMultipart, beginMultipart, fileKey, putPart } from "../../storage/files/files.ts";
import type { Services } from "../services.ts";
import {
  addressOf,
  type InlineFile,
  type InlineFiles,
  type UploadedParts,
} from "./inline-files.ts";

/** The length of a part: R2 takes no shorter part except the last. */
export const PART_BYTES = 5 * 1024 * 1024;
/** The bytes of all small files of a form together. */
export const KEPT_BYTES = 1024 * 1024;

const FIRST_BYTES = 64 * 1024;
const OPAQUE = "application/octet-stream";

export class FormFiles {
  readonly #services: Services;
  readonly #origin: string;
  readonly #sent: InlineFiles = { prediction_id: newPredictionUuid(), files: [] };
  /** All uploads that were begun, also those that have become files. */
  readonly #begun: { key: string; multipart_id: string }[] = [];
  #kept = 0;

  constructor(services: Services, origin: string) {
    this.#services = services;
    this.#origin = origin;
  }

  get sent(): InlineFiles {
    return this.#sent;
  }

  async begin({ filename = "", type }: PartHead): Promise<FormFile> {
    const name = shownName(filename);
    const number = this.#sent.files.length + 1;
    const key = fileKey(this.#sent.prediction_id, sentName("form", number, `-${safeName(name)}`));
    const url = await addressOf(this.#services, this.#origin, key);
    return new FormFile(this.#services.env.FILES, {
      key,
      name,
      type: createUpload.shape.mime_type.safeParse(type).data ?? OPAQUE,
      url,
      onBegun: (multipart_id) => this.#begun.push({ key, multipart_id }),
    });
  }

  /** @returns its URL */
  async end(file: FormFile): Promise<string> {
    const sent = await file.end(KEPT_BYTES - this.#kept);
    if (sent.content instanceof Uint8Array) this.#kept += sent.content.length;
    this.#sent.files.push(sent);
    return sent.url;
  }

  /** Aborts the uploads that have become no file of a prediction. */
  async discard(): Promise<void> {
    const { FILES } = this.#services.env;
    await Promise.allSettled(this.#begun.map((one) => abortMultipart(FILES, one)));
  }
}

interface FormFileOptions {
  key: string;
  name: string;
  type: string;
  url: string;
  onBegun: (multipartId: string) => void;
}

export class FormFile {
  readonly #bucket: R2Bucket;
  readonly #options: FormFileOptions;
  /** The bytes that R2 does not have yet: less than a part. */
  #buffer = new Uint8Array(FIRST_BYTES);
  #length = 0;
  #upload: Upload | undefined;

  constructor(bucket: R2Bucket, options: FormFileOptions) {
    this.#bucket = bucket;
    this.#options = options;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + PART_BYTES - this.#length);
      this.#grow(this.#length + piece.length);
      this.#buffer.set(piece, this.#length);
      this.#length += piece.length;
      at += piece.length;
      if (this.#length === PART_BYTES) await this.#put();
    }
  }

  /** @param room for bytes that are kept */
  async end(room: number): Promise<InlineFile> {
    const { key, name, url } = this.#options;
    if (!this.#upload && this.#length <= room) {
      const content = this.#buffer.slice(0, this.#length);
      return { key, name, url, mime_type: this.#typeOf(content), content };
    }
    if (this.#length > 0 || !this.#upload) await this.#put();
    const { content, mime_type } = await uploaded(this.#upload);
    return { key, name, url, mime_type, content };
  }

  async #put(): Promise<void> {
    const part = this.#buffer.subarray(0, this.#length);
    this.#upload ??= await this.#begin(this.#typeOf(part));
    await this.#upload.put(part);
    this.#length = 0;
  }

  #grow(length: number): void {
    if (length <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.min(PART_BYTES, Math.max(length, 2 * this.#buffer.length)));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }

  async #begin(mimeType: string): Promise<Upload> {
    const { key, name, onBegun } = this.#options;
    const id = await beginMultipart(this.#bucket, key, { name, mime_type: mimeType });
    onBegun(id);
    return new Upload(this.#bucket, key, id, mimeType);
  }

  /** Returns the file's type. Clients that know only bytes send no better type than this default. */
  #typeOf(beginning: Uint8Array): string {
    const { type } = this.#options;
    return type === OPAQUE ? (imageTypeOf(beginning) ?? OPAQUE) : type;
  }
}

/** The parts of a file that R2 has. */
class Upload {
  readonly #bucket: R2Bucket;
  readonly #key: string;
  readonly #id: string;
  readonly mime_type: string;
  readonly #digest = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#digest.getWriter();
  readonly #etags: string[] = [];
  #size = 0;

  constructor(bucket: R2Bucket, key: string, id: string, mimeType: string) {
    this.#bucket = bucket;
    this.#key = key;
    this.#id = id;
    this.mime_type = mimeType;
  }

  async put(part: Uint8Array): Promise<void> {
    await this.#writer.write(part);
    const upload = { key: this.#key, multipart_id: this.#id };
    const put = await putPart(this.#bucket, upload, this.#etags.length + 1, part);
    if (!put) throw new Error(`the upload of ${this.#key} is gone`);
    this.#etags.push(put.etag);
    this.#size += part.length;
  }

  async end(): Promise<UploadedParts> {
    await this.#writer.close();
    const sha256 = hex(await this.#digest.digest);
    return { multipart_id: this.#id, etags: this.#etags, size: this.#size, sha256 };
  }
}

async function uploaded(upload: Upload | undefined) {
  if (!upload) throw new Error("nothing was put");
  return { content: await upload.end(), mime_type: upload.mime_type };
}
