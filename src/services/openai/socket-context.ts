/**
 * The conversation of a WebSocket's last response that is not stored. It is only in memory, so that the next
 * response on the same socket can continue it. Another socket does not find it.
 */
import { z } from "zod";
import { type ResponseItem, responseItem } from "../../protocol/openai/response.ts";
import { holdText } from "./held-texts.ts";

const contexts = new WeakMap<Request, SocketContext>();

/** Returns the context of the socket that a call comes from; undefined for a call that came without one. */
export const socketContextOf = (call: Request): SocketContext | undefined => contexts.get(call);

const items = z.array(responseItem);

interface Kept {
  id: string;
  /** The items as JSON, which takes less memory. */
  text: string;
  leave: () => void;
}

export class SocketContext {
  readonly #owner: string;
  #kept: Kept | undefined;
  /** The response that is under way. */
  #begun: Kept | undefined;
  /** Whether the response under way continues the kept one. */
  #continues = false;

  constructor(owner: string) {
    this.#owner = owner;
  }

  attach(call: Request): void {
    contexts.set(call, this);
  }

  find(id: string): ResponseItem[] | undefined {
    if (this.#kept?.id !== id) return undefined;
    this.#continues = true;
    return items.parse(JSON.parse(this.#kept.text));
  }

  /** Notes that a response has begun which is not stored. Without room in memory it cannot be continued. */
  begin(id: string, input: ResponseItem[]): void {
    const text = JSON.stringify(input);
    const leave = holdText(this.#owner, text.length);
    this.#begun = leave && { id, text, leave };
  }

  /** Notes that the response under way has ended with this output. It replaces the kept one. */
  end(output: ResponseItem[]): void {
    const begun = this.#begun;
    this.drop();
    if (!begun) return;
    const added = output.map((item) => JSON.stringify(item));
    const text = `[${[begun.text.slice(1, -1), ...added].filter(Boolean).join()}]`;
    const leave = holdText(this.#owner, text.length);
    this.#kept = leave && { id: begun.id, text, leave };
  }

  /**
   * Notes that the response under way has failed. The response that it continued cannot be continued again.
   */
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
