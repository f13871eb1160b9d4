/** The process before this one, which goes on with its runs: what it has, and what it hands on. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { sleep } from "../../../src/lib/timeout.ts";
import { type Lines, overLines } from "./lines.ts";
import {
  type HandedContainer,
  type PredecessorState,
  SUCCESSION_PROTOCOL,
  type ToPredecessor,
  type ToSuccessor,
  toSuccessor,
} from "./messages.ts";

/** One that is stopped, or hangs, accepts connections all the same. */
const ANSWER_MS = 5_000;

/** Without what is private. */
export type Predecessor = Pick<PredecessorLink, keyof PredecessorLink>;

export class PredecessorLink {
  /** Resolves when its process has ended, or does not answer any more. */
  readonly ended: Promise<void>;
  readonly #lines: Lines<ToPredecessor>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  readonly #answer = Promise.withResolvers<string | undefined>();
  #letThrough = Promise.withResolvers<void>();
  #state: PredecessorState | undefined;
  /** Called when it has told something new. */
  onChange = () => {};
  /** Called with each container that it hands on: from then on that is this process's. */
  onContainer: (container: HandedContainer) => void = () => {};

  /** @returns undefined if nobody answers; or why it will not be succeeded */
  static async meet(
    path: string,
    terms: string,
    stop: AbortSignal,
  ): Promise<PredecessorLink | string | undefined> {
    const socket = connect(path);
    try {
      await once(socket, "connect");
    } catch {
      return undefined;
    }
    const predecessor = new PredecessorLink(socket, terms);
    const answered = new AbortController();
    const late = sleep(ANSWER_MS, AbortSignal.any([stop, answered.signal]));
    const reason = await Promise.race([predecessor.#answer.promise, late.then(() => undefined)]);
    answered.abort();
    if (reason !== undefined) return reason;
    if (predecessor.#state && !stop.aborted) return predecessor;
    socket.destroy();
    return undefined;
  }

  private constructor(socket: Socket, terms: string) {
    this.ended = this.#ended.promise;
    this.#lines = overLines<ToPredecessor, ToSuccessor>(
      socket,
      toSuccessor,
      (message) => this.#hear(message),
      () => this.#end(),
    );
    this.#lines.send({ kind: "hello", protocol: SUCCESSION_PROTOCOL, terms });
  }

  /** What it had when it last told, and nothing once it has ended. */
  get state(): PredecessorState | undefined {
    return this.#state;
  }

  /** Resolves when its firewall knows that its containers may call this port. */
  async listening(port: number): Promise<void> {
    this.#lines.send({ kind: "listening", port });
    await Promise.race([this.#letThrough.promise, this.ended]);
  }

  registered(): void {
    this.#lines.send({ kind: "registered" });
  }

  /** Resolves when its ports are free. */
  released(): Promise<void> {
    return Promise.race([this.#released.promise, this.ended]);
  }

  /** Leaves it as it is. */
  close(): void {
    this.#lines.close();
  }

  #hear(message: ToSuccessor): void {
    switch (message.kind) {
      case "refused":
        return this.#answer.resolve(message.reason);
      case "let_through":
        return this.#letThrough.resolve();
      case "released":
        return this.#released.resolve();
      case "state":
        this.#state = message.state;
        this.#answer.resolve(undefined);
        return this.onChange();
      case "container":
        // First, so that whatever it is asked next it has the container.
        this.onContainer(message.container);
        return this.#lines.send({ kind: "taken", name: message.container.name });
    }
  }

  #end(): void {
    this.#state = undefined;
    this.#answer.resolve(undefined);
    this.#ended.resolve();
    this.onChange();
  }
}
