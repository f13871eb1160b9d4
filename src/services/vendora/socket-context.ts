/**
 * The conversation of a WebSocket's last response that is not stored. It is only in memory, so that the next
 * response on the same socket can continue it. Another socket does not find it.
 */
import { z } from "zod";
import { type ResponseItem, responseItem } from "../../protocol/vendora/response.ts";
import { holdText } from "./held-texts.ts";

const contexts = new WeakMap<Request, SocketContext>();

/** The context of the socket that a call comes from; undefined for a call of its own. */
export const socketContextOf = (call: Request): SocketContext | undefined => contexts.get(call);

const items = z.array(responseItem);

interface Kept {
  id: string;
  /** The items as JSON: shorter in memory. */
  text: string;
  leave: () => void;
}

export class SocketContext {
  readonly #owner: string;
  #kept: Kept | undefined;
  /** Of the response that is under way. */
  #begun: Kept | undefined;
  /** Whether that continues what is kept. */
  #continues = false;

  constructor(owner: string) {
    this.#owner = owner;
  }

  attach(call: Request): void {
    contexts.set(call, this);
  }

  /** The items of a response and what led to it. */
  find(id: string): ResponseItem[] | undefined {
    if (this.#kept?.id !== id) return undefined;
    this.#continues = true;
    return items.parse(JSON.parse(this.#kept.text));
  }

  /** A response that is not stored has begun. Without room in memory it cannot be continued. */
  begin(id: string, input: ResponseItem[]): void {
    const text = JSON.stringify(input);
    const leave = holdText(this.#owner, text.length);
    this.#begun = leave && { id, text, leave };
  }

  /** The response under way has ended with this output, and takes the place of the one that is kept. */
  end(output: ResponseItem[]): void {
    const begun = this.#begun;
    this.drop();
    if (!begun) return;
    const added = output.map((item) => JSON.stringify(item));
    const text = `[${[begun.text.slice(1, -1), ...added].filter(Boolean).join()}]`;
    const leave = holdText(this.#owner, text.length);
    this.#kept = leave && { id: begun.id, text, leave };
  }

  /** The response under way has failed. What it continued cannot be continued again. */
  fail(): void {
    if (this.#continues) this.drop();
    this.#begun?.leave();
    this.#begun = undefined;
  }

  drop(): void {
    this.#kept?.leave();
    this.#begun?.leave();
    this.#kept = this.#begun = undefined;
    this.#continues = false;
  }
}
