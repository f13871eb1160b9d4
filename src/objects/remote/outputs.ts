/** The outputs of a remote call: without its key, and in R2 if they are large or images. */
import { decodeDataUri } from "../../domain/files/decoded-data-uri.ts";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import { utf8Length } from "../../lib/buffer.ts";
import { exactText } from "../../lib/exact-json.ts";
import { isFields, textOf } from "../../lib/fields.ts";
import type { Finish } from "../../protocol/channel.ts";
import type { Json } from "../../protocol/common.ts";
import { MAX_INLINE_OUTPUT } from "../../protocol/event.ts";
import { external, internal } from "../../run/failure.ts";
import type { Reporter } from "../../run/reporter.ts";
import { isImageCall, PassingReporter } from "../../run/run-reporter.ts";
import { database } from "../../storage/database.ts";
import { deleteFile, fileKey, putFile, putValue, valueKey } from "../../storage/files/files.ts";
import { signFileUrl } from "../../storage/files/signed-file-urls.ts";
import { accountAt } from "../stubs/account.ts";
import { predictionWithId, type WriteGrant } from "../stubs/prediction.ts";
import type { RemoteOrder } from "../stubs/remote.ts";

/** A shorter text is no key, and may be part of any answer. */
const MIN_KEY = 8;

type Order = Pick<RemoteOrder, "object_id" | "key"> & { spec: Pick<PredictionSpec, "call"> };

export class Outputs extends PassingReporter {
  readonly #env: Bindings;
  readonly #order: Order;
  readonly #holder: LeaseHolder;
  /** The outputs after one that is being stored wait for it. */
  #storing: Promise<void> | undefined;
  #images = 0;

  constructor(env: Bindings, order: Order, holder: LeaseHolder, reporter: Reporter) {
    super(reporter);
    this.#env = env;
    this.#order = order;
    this.#holder = holder;
  }

  override output(value: Json, json = exactText(value)): void {
    if (isImageCall(this.#order.spec.call)) return this.#next(() => this.#outputImages(value));
    const text = this.#withoutKey(json);
    const size = utf8Length(text);
    const isLarge = size > MAX_INLINE_OUTPUT;
    if (!this.#storing && !isLarge) return super.output(value, text);
    // A large output counts before it waits: the memory has no room for more of them than the limit allows.
    if (isLarge && !this.reporter.reserve(size)) return;
    this.#next(async () => (isLarge ? this.#store(text) : super.output(value, text)));
  }

  /** Does something with an output once all before it are reported. */
  #next(act: () => Promise<void>): void {
    this.#storing = (this.#storing ?? Promise.resolve()).then(act);
    // `settle` says why one failed.
    this.#storing.catch(() => {});
  }

  async #outputImages(value: Json): Promise<void> {
    const filed = await this.#withFiles(value);
    const text = this.#withoutKey(exactText(filed));
    const size = utf8Length(text);
    if (size <= MAX_INLINE_OUTPUT) return super.output(filed, text);
    if (this.reporter.reserve(size)) await this.#store(text);
  }

  override logs(text: string): void {
    super.logs(this.#withoutKey(text));
  }

  /** Resolves when no output waits to be stored any more. @throws Failure */
  async drain(): Promise<void> {
    await this.#storing;
  }

  /** Resolves when all outputs are reported, and how many images they have. @throws Failure */
  async settle(): Promise<void> {
    try {
      await this.#storing;
    } finally {
      if (this.#images > 0) super.metrics({ images: this.#images });
    }
  }

  /** Returns the end of the run as callers read it. A host may quote the key in an error. */
  redacted(finish: Finish): Finish {
    const text = this.#withoutKey(JSON.stringify(finish));
    return JSON.parse(text.replaceAll(/\b([Tt]he) container('s)?\b/g, "$1 remote host$2"));
  }

  #withoutKey(json: string): string {
    const { key = "" } = this.#order;
    if (key.length < MIN_KEY) return json;
    return json.replaceAll(JSON.stringify(key).slice(1, -1), "…");
  }

  /** Stores the images of an answer or an event, which are data URIs. */
  async #withFiles(value: Json): Promise<Json> {
    if (!isFields(value)) return value;
    const { data } = value;
    const isPreview = textOf(value.type).endsWith(".partial_image");
    const filed = await this.#withFile(value, isPreview);
    if (!Array.isArray(data)) return filed;
    const all: Json[] = [];
    for (const one of data) all.push(isFields(one) ? await this.#withFile(one, isPreview) : one);
    return { ...filed, data: all };
  }

  async #withFile(image: Record<string, Json>, isPreview: boolean): Promise<Record<string, Json>> {
    const file = decodeDataUri(textOf(image.url));
    if (!file) return image;
    const { bytes, name, mime_type } = file;
    const url = await this.#write(
      bytes.length,
      ({ id }) => fileKey(id, `${crypto.randomUUID().slice(24)}-${name}`),
      (key) => putFile(this.#env.FILES, key, bytes, { name, mime_type }),
      ({ url, keep_seconds }, key) => {
        const { origin } = new URL(url);
        const until = Date.now() + keep_seconds * 1_000;
        return signFileUrl(settings(this.#env), database(this.#env.DB), origin, key, until);
      },
    );
    if (!isPreview) this.#images += 1;
    return { ...image, url };
  }

  async #store(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    const size = bytes.length;
    const name = crypto.randomUUID();
    await this.#write(
      size,
      ({ id }) => valueKey(id, name),
      (key) => putValue(this.#env.FILES, key, bytes),
      async () => this.reporter.storedOutput({ name, size }),
    );
  }

  /**
   * Writes an object of the prediction to R2.
   * @param then called when the attempt is still open after the write
   * @throws Failure
   */
  async #write<Result>(
    bytes: number,
    keyIn: (grant: WriteGrant) => string,
    put: (key: string) => Promise<unknown>,
    then: (grant: WriteGrant, key: string) => Promise<Result>,
  ): Promise<Result> {
    const prediction = predictionWithId(this.#env, this.#order.object_id);
    const grant = await prediction?.beginWrite(this.#holder);
    if (!prediction || !grant || grant === "full") throw internal("the output could not be stored");
    const key = keyIn(grant);
    const account = accountAt(this.#env, grant.account_object);
    const maxBytes = settings(this.#env).fileBytes;
    if ((await account.addFile(grant.user_id, { key, bytes, maxBytes })) !== undefined)
      throw external("the account has no room for the output: delete uploads or predictions");
    await put(key);
    if (await prediction.continueWrite(this.#holder)) return then(grant, key);
    await deleteFile(this.#env.FILES, key);
    throw internal("the attempt has ended");
  }
}
