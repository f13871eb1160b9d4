/** Event streams for the readers of a prediction, within the limits of readers and accounts. */

import { accessToPrediction, CHECK_MS } from "../../domain/accounts/access.ts";
import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import { findPrincipal, sees } from "../../storage/accounts/reader-access.ts";
import { database } from "../../storage/database.ts";
import type { ReplacementCheck } from "../replacement-check.ts";
import {
  type Refusal,
  type StreamOptions,
  type StreamReader,
  streamOptionsOf,
  type TooManyReaders,
} from "../stubs/prediction.ts";
import { cancel } from "./alarm.ts";
import type { Effects } from "./effects.ts";
import type { PredictionRecord } from "./record.ts";
import type { Subscribers } from "./subscribers.ts";

const tooMany = (readers: TooManyReaders) => new Response(readers, { status: 429 });

export class Streams {
  readonly #env: Bindings;
  readonly #subscribers: Subscribers;
  readonly #effects: Effects;
  readonly #load: () => Promise<PredictionRecord | undefined>;
  readonly #checks: ReaderChecks;
  readonly #replacement: ReplacementCheck;

  constructor(
    env: Bindings,
    subscribers: Subscribers,
    effects: Effects,
    replacement: ReplacementCheck,
    load: () => Promise<PredictionRecord | undefined>,
  ) {
    this.#env = env;
    this.#replacement = replacement;
    this.#subscribers = subscribers;
    this.#effects = effects;
    this.#load = load;
    this.#checks = new ReaderChecks(env, subscribers, load);
  }

  /** @param begin creates the prediction, if the request does; returns why it is not created */
  async open(request: Request, begin: () => Promise<Refusal | undefined>): Promise<Response> {
    const url = new URL(request.url);
    const options = streamOptionsOf(url);
    const { reader } = options;
    // The reader is counted before anything is created: a refused reader must not leave a prediction behind.
    const open = reader && OpenRequest.enter(reader.user_id, reader.max_streams);
    if (reader && !open) return tooMany("of the account");
    const refused = await begin();
    const response = refused
      ? Response.json(refused, { status: 409 })
      : await this.#stream(request, options, open, url.pathname === "/create");
    if (!response.body || !response.ok) open?.leave();
    return response;
  }

  async #stream(
    { signal }: Request,
    { after, leave, ...limits }: StreamOptions,
    open: OpenRequest | undefined,
    isNew: boolean,
  ): Promise<Response> {
    const record = await this.#load();
    if (!record || record.life.dataRemoved) return new Response(null, { status: 404 });
    if (record.life.terminal && after >= record.log.last)
      return new Response(null, { status: 204 });
    const isLive = record.life.spec.is_borrowed && !record.life.terminal && !isNew;
    // The right to run a borrowed model may have ended since the prediction was created.
    if (isLive && limits.reader && !(await this.#checks.mayRead(limits.reader)))
      return new Response(null, { status: 403 });
    if (this.#subscribers.size >= settings(this.#env).maxReaders)
      return tooMany("of the prediction");
    if (leave && record.life.callerFollows()) record.save();
    const onLeave = leave && (() => void this.#cancel());
    // The reader may have left during the creation: a response's stream that nobody reads is never canceled.
    if (signal.aborted) onLeave?.();
    const release = this.#replacement.hold();
    const permit = {
      renew: () => open?.renew(),
      leave: () => {
        open?.leave();
        release();
      },
    };
    const stream = this.#subscribers.subscribe(after, limits, onLeave, permit);
    if (limits.reader) this.#checks.begin();
    if (this.#subscribers.size === 1) this.#effects.writer.quicken(record);
    return new Response(stream);
  }

  async #cancel(): Promise<void> {
    cancel(await this.#load(), this.#effects, "its caller has disconnected");
  }
}

/**
 * Ends the streams of readers whose access has ended. The Worker that authenticated them cannot: it answers
 * with the object's own stream, since to copy it for each reader costs an isolate 40 % of its throughput, and
 * is gone once it has.
 */

class ReaderChecks {
  readonly #env: Bindings;
  readonly #subscribers: Subscribers;
  readonly #load: () => Promise<PredictionRecord | undefined>;
  #timer: number | null = null;

  constructor(
    env: Bindings,
    subscribers: Subscribers,
    load: () => Promise<PredictionRecord | undefined>,
  ) {
    this.#env = env;
    this.#subscribers = subscribers;
    this.#load = load;
  }

  begin(): void {
    this.#timer ??= setTimeout(() => void this.#check(), CHECK_MS);
  }

  /** Checks the access of each token or session once, however many streams it has. */
  async #check(): Promise<void> {
    this.#timer = null;
    const readers = this.#subscribers.renewed();
    if (readers.size > 0) this.begin();
    const checks = [...readers.values()].map(async (reader) => {
      if (!(await this.mayRead(reader))) this.#subscribers.end(reader);
    });
    await Promise.all(checks);
  }

  /**
   * Whether the reader's token or session lives, covers this prediction with the role that its maker has now,
   * and whether the account still sees a borrowed model.
   */
  async mayRead(reader: StreamReader): Promise<boolean> {
    try {
      const db = database(this.#env.DB);
      const principal = await findPrincipal(db, reader);
      const spec = (await this.#load())?.life.spec;
      if (!principal || !spec) return principal !== undefined;
      if (accessToPrediction(principal, spec) !== "granted") return false;
      return !spec.is_borrowed || (await sees(db, spec.user_id, spec.model_id));
    } catch (error) {
      // A stream goes on while its reader cannot be checked.
      const { id, kind, user_id } = reader;
      logger.error("Reader not checked", { [`${kind}_id`]: id, user_id, error });
      return true;
    }
  }
}
