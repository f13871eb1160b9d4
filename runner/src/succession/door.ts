/** Where the process after this one comes in: it hears what this one holds, and gets what is idle. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { Log } from "../lib/log.ts";
import { type Lines, overLines } from "./lines.ts";
import {
  type HandedContainer,
  type PredecessorState,
  SUCCESSION_PROTOCOL,
  type ToPredecessor,
  type ToSuccessor,
  toPredecessor,
} from "./messages.ts";
import { differences } from "./terms.ts";

/** What this process does for the one after it. */
export interface Household {
  /** What it has now. */
  state(): PredecessorState;
  /** Containers may call the new process at this port; undefined: it has gone without having registered. */
  letThrough(port: number | undefined): Promise<void>;
  /** The new process gets the jobs from now on. Called once per successor. */
  succeeded(successor: Successor): void;
}

/** The process after this one. */
export interface Successor {
  /** Where its containers call it, on the same host as here. */
  readonly port: number;
  /** @returns false if it has gone before it took it: whose the container is nobody knows */
  give(container: HandedContainer): Promise<boolean>;
  /** The callback server of this process has closed. */
  released(): void;
  readonly isThere: boolean;
}

export interface DoorOptions {
  /** What both must have been started with alike. */
  terms: string;
  log: Log;
}

/** Without what is private. */
export type OpenDoor = Pick<Door, keyof Door>;

export class Door {
  readonly #options: DoorOptions;
  readonly #household: Household;
  readonly #server: Server;
  #visit: Visit | undefined;

  constructor(options: DoorOptions, household: Household) {
    this.#options = options;
    this.#household = household;
    this.#server = createServer((socket) => this.#receive(socket));
  }

  async open(path: string): Promise<void> {
    // A process that was killed has left it.
    await rm(path, { force: true });
    this.#server.listen(path);
    await once(this.#server, "listening");
    this.#server.unref();
  }

  /** To be called when the household's state has changed. */
  changed(): void {
    this.#visit?.changed();
  }

  get successor(): Successor | undefined {
    return this.#visit?.hasSucceeded ? this.#visit : undefined;
  }

  /** Nobody new comes in. */
  shut(): void {
    this.#server.close();
    this.#visit?.leaveUnlessKnown();
  }

  /** Resolves when nobody is about to take over: who was has done so, or has gone. */
  async decided(): Promise<void> {
    await this.#visit?.decided;
  }

  close(): void {
    this.#server.close();
    this.#visit?.close();
  }

  #receive(socket: Socket): void {
    const { terms, log } = this.#options;
    if (this.#visit) return void socket.destroy();
    const visit = new Visit(socket, {
      terms,
      household: this.#household,
      onEnd: () => {
        this.#visit = undefined;
        if (visit.hasSucceeded) log.warn("the process that took over has gone");
        if (visit.port !== 0) void letThrough(this.#household, undefined);
      },
    });
    this.#visit = visit;
  }
}

interface VisitOptions {
  terms: string;
  household: Household;
  onEnd: () => void;
}

class Visit implements Successor {
  readonly #options: VisitOptions;
  readonly #lines: Lines<ToSuccessor>;
  readonly #given = new Map<string, (taken: boolean) => void>();
  readonly #decided = Promise.withResolvers<void>();
  #isKnown = false;
  /** Whether it has not heard of the last change, and whether it is being told of one. */
  #isStale = false;
  #isTelling = false;
  #port = 0;
  hasSucceeded = false;
  isThere = true;

  constructor(socket: Socket, options: VisitOptions) {
    this.#options = options;
    this.#lines = overLines<ToSuccessor, ToPredecessor>(
      socket,
      toPredecessor,
      (message) => this.#hear(message),
      () => this.#end(),
    );
  }

  get port(): number {
    return this.#port;
  }

  /** Resolves when it has taken over, has gone, or may not. */
  get decided(): Promise<void> | undefined {
    return this.#isKnown ? this.#decided.promise : undefined;
  }

  leaveUnlessKnown(): void {
    if (!this.#isKnown) this.#lines.close();
  }

  /** Several changes at once are told once, and none while one that hangs has not read the last. */
  changed(): void {
    if (!this.#isKnown) return;
    this.#isStale = true;
    if (this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => this.#tell());
  }

  #tell(): void {
    this.#isTelling = this.#isStale && this.isThere;
    if (!this.#isTelling) return;
    this.#isStale = false;
    const state = this.#options.household.state();
    this.#lines.send({ kind: "state", state }, () => this.#tell());
  }

  give(container: HandedContainer): Promise<boolean> {
    if (!this.isThere) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#given.set(container.name, resolve);
    this.#lines.send({ kind: "container", container });
    return promise;
  }

  released(): void {
    this.#lines.send({ kind: "released" });
  }

  close(): void {
    this.#lines.close();
  }

  #hear(message: ToPredecessor): void {
    const { household } = this.#options;
    if (message.kind === "hello") return this.#greet(message);
    // It was refused, and may not know what that means.
    if (!this.#isKnown) return;
    switch (message.kind) {
      case "listening":
        this.#port = message.port;
        void letThrough(household, message.port).then(() =>
          this.#lines.send({ kind: "let_through" }),
        );
        return;
      case "registered":
        if (this.hasSucceeded) return;
        this.hasSucceeded = true;
        this.#decided.resolve();
        return household.succeeded(this);
      case "taken":
        this.#given.get(message.name)?.(true);
        this.#given.delete(message.name);
    }
  }

  #greet({ protocol, terms }: Extract<ToPredecessor, { kind: "hello" }>): void {
    const reason = refusal(protocol, terms, this.#options.terms);
    if (reason === undefined) {
      this.#isKnown = true;
      this.#lines.send({ kind: "state", state: this.#options.household.state() });
      return;
    }
    this.#lines.send({ kind: "refused", reason });
    this.#lines.close();
  }

  #end(): void {
    this.isThere = false;
    this.#decided.resolve();
    for (const resolve of this.#given.values()) resolve(false);
    this.#options.onEnd();
  }
}

/** Never rejects: if it fails, the firewall's guard says so, and ends what runs. */
const letThrough = (household: Household, port: number | undefined): Promise<void> =>
  household.letThrough(port).catch(() => {});

function refusal(protocol: number, its: string, own: string): string | undefined {
  if (protocol !== SUCCESSION_PROTOCOL) return "its version hands containers on in another way";
  if (its === own) return undefined;
  const names = differences(own, its);
  return `it was started with other settings${names.length > 0 ? ` (${names.join(", ")})` : ""}`;
}
