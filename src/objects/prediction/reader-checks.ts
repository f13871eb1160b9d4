/**
 * Ends the streams of those who may no longer read. The Worker that authenticated them cannot: it
 * answers with the object's own stream, since to copy it for each reader costs an isolate 40 % of its
 * throughput, and is gone once it has.
 */
import { CHECK_MS } from "../../domain/accounts/access-checks.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { isLive } from "../../storage/accounts/reader-access.ts";
import { database } from "../../storage/database.ts";
import type { StreamReader } from "./stub.ts";
import type { Subscribers } from "./subscribers.ts";

export class ReaderChecks {
  readonly #env: Bindings;
  readonly #subscribers: Subscribers;
  #timer: number | null = null;

  constructor(env: Bindings, subscribers: Subscribers) {
    this.#env = env;
    this.#subscribers = subscribers;
  }

  /** Checks every CHECK_MS while anybody reads. */
  begin(): void {
    this.#timer ??= setTimeout(() => void this.#check(), CHECK_MS);
  }

  /** Once per token or session, however many streams it has. */
  async #check(): Promise<void> {
    this.#timer = null;
    const readers = this.#subscribers.renewed();
    if (readers.size > 0) this.begin();
    const checks = [...readers.values()].map(async (reader) => {
      if (!(await this.#mayRead(reader))) this.#subscribers.end(reader.id);
    });
    await Promise.all(checks);
  }

  async #mayRead(reader: StreamReader): Promise<boolean> {
    try {
      return await isLive(database(this.#env.DB), reader);
    } catch (error) {
      // If it cannot be checked right now, the stream goes on.
      const { id, kind, user_id } = reader;
      logger.error("Reader not checked", { [`${kind}_id`]: id, user_id, error });
      return true;
    }
  }
}
