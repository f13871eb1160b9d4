/** A runner's long poll: held until there is a job for it, it is replaced, 30 s are over, or its runner is gone. */
import { onAbort } from "../../lib/timeout.ts";
import { POLL_SECONDS } from "./rpc-types.ts";

export interface PollOptions {
  /** Aborts when the runner disconnects. */
  signal: AbortSignal;
  /** Called once, when it is held no more. @param isGone its runner has disconnected */
  onEnd: (isGone: boolean) => void;
}

export class HeldPoll<Item> {
  /** What it is answered with. */
  readonly items: Promise<Item[]>;
  #end: (isGone: boolean, items: Item[]) => void;

  constructor({ signal, onEnd }: PollOptions) {
    const { promise, resolve } = Promise.withResolvers<Item[]>();
    this.items = promise;
    const timer = setTimeout(() => this.answer([]), POLL_SECONDS * 1_000);
    this.#end = (isGone, items) => {
      this.#end = () => {};
      clearTimeout(timer);
      stopListening();
      onEnd(isGone);
      resolve(items);
    };
    let stopListening = () => {};
    stopListening = onAbort(signal, () => this.#end(true, []));
  }

  /** The first answer counts. */
  answer(items: Item[]): void {
    this.#end(false, items);
  }
}
