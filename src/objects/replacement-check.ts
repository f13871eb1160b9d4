/**
 * Notices that the platform has replaced an object: after a deploy, a move to another machine or a break of
 * its network. Only a call to storage shows it. An instance that holds polls, streams or waiting calls and
 * touches no storage may go on for 30 s without knowing, while new calls reach its successor: its runners get
 * no job, and its readers see nothing.
 */
import { logger } from "../log.ts";

/** How often the object checks. A stream stands still, and a job waits, for at most about twice this. */
export const CHECK_MS = 1_000;

export class ReplacementCheck {
  readonly #ctx: DurableObjectState;
  #held = 0;
  #checks: AbortController | null = null;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /**
   * Checks once a second while there are holders.
   * @returns a function that ends the hold
   */
  hold(): () => void {
    this.#held += 1;
    if (!this.#checks) {
      this.#checks = new AbortController();
      void this.#checkUntil(this.#checks.signal);
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held -= 1;
      if (this.#held > 0) return;
      this.#checks?.abort();
      this.#checks = null;
    };
  }

  async #checkUntil(signal: AbortSignal): Promise<void> {
    for (;;) {
      await scheduler.wait(CHECK_MS, { signal }).catch(() => {});
      if (signal.aborted || !this.#check()) return;
    }
  }

  /**
   * Reads storage, because a write is billed. A read that throws ends the instance, and all that it holds.
   */
  #check(): boolean {
    try {
      this.#ctx.storage.sql.exec("SELECT 1 FROM sqlite_schema LIMIT 1");
      return true;
    } catch (error) {
      logger.warn("Object replaced", { object_id: this.#ctx.id.toString(), error });
      this.#ctx.abort("This object runs elsewhere by now.");
      return false;
    }
  }
}
