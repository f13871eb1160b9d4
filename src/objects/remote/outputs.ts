/** The outputs of a remote call: without its key, and in R2 if they are large. */
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import { type Bindings, settings } from "../../env.ts";
import { utf8Length } from "../../lib/buffer.ts";
import { exactText } from "../../lib/exact-json.ts";
import type { Finish } from "../../protocol/channel.ts";
import type { Json } from "../../protocol/common.ts";
import { MAX_INLINE_OUTPUT } from "../../protocol/event.ts";
import { external, internal } from "../../run/failure.ts";
import type { Reporter } from "../../run/reporter.ts";
import { PassingReporter } from "../../run/run-reporter.ts";
import { deleteFile, putValue, valueKey } from "../../storage/files/files.ts";
import { accountAt } from "../stubs/account.ts";
import { predictionWithId } from "../stubs/prediction.ts";
import type { RemoteOrder } from "../stubs/remote.ts";

/** A shorter text is no key, and may be part of any answer. */
const MIN_KEY = 8;

export class Outputs extends PassingReporter {
  readonly #env: Bindings;
  readonly #order: Pick<RemoteOrder, "object_id" | "key">;
  readonly #holder: LeaseHolder;
  /** The outputs after one that is being stored wait for it. */
  #storing: Promise<void> | undefined;

  constructor(
    env: Bindings,
    order: Pick<RemoteOrder, "object_id" | "key">,
    holder: LeaseHolder,
    reporter: Reporter,
  ) {
    super(reporter);
    this.#env = env;
    this.#order = order;
    this.#holder = holder;
  }

  override output(value: Json, json = exactText(value)): void {
    const text = this.#withoutKey(json);
    const size = utf8Length(text);
    const isLarge = size > MAX_INLINE_OUTPUT;
    if (!this.#storing && !isLarge) return super.output(value, text);
    // A large output counts before it waits: the memory has no room for more of them than the limit allows.
    if (isLarge && !this.reporter.reserve(size)) return;
    const before = this.#storing ?? Promise.resolve();
    this.#storing = before.then(() => (isLarge ? this.#store(text) : super.output(value, text)));
    // `settle` says why one failed.
    this.#storing.catch(() => {});
  }

  override logs(text: string): void {
    super.logs(this.#withoutKey(text));
  }

  /** Resolves when all outputs are reported. @throws Failure */
  async settle(): Promise<void> {
    await this.#storing;
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

  async #store(text: string): Promise<void> {
    const prediction = predictionWithId(this.#env, this.#order.object_id);
    const bytes = new TextEncoder().encode(text);
    const size = bytes.length;
    if (!prediction) return;
    const grant = await prediction.beginWrite(this.#holder);
    if (!grant || grant === "full") throw internal("the output could not be stored");
    const name = crypto.randomUUID();
    const key = valueKey(grant.id, name);
    const account = accountAt(this.#env, grant.account_object);
    const maxBytes = settings(this.#env).fileBytes;
    if ((await account.addFile(grant.user_id, { key, bytes: size, maxBytes })) !== undefined)
      throw external("the account has no room for the output: delete uploads or predictions");
    await putValue(this.#env.FILES, key, bytes);
    if (await prediction.continueWrite(this.#holder)) this.reporter.storedOutput({ name, size });
    else await deleteFile(this.#env.FILES, key);
  }
}
