/**
 * Notices a container whose server does not listen where it should: connections are refused while the process
 * lives. A large model may load for long before its server listens, so the notice comes after a minute, and
 * the failure after the time that the version allows.
 */
import { external } from "../../../src/run/failure.ts";

/** The addresses on which a server should listen and does listen. */
export interface Listening {
  host: string;
  port: number;
  variables: readonly string[];
  /** Returns the addresses of the server's processes, such as `127.0.0.1:8000`; undefined if unknown. */
  addresses: () => Promise<string[] | undefined>;
}

export interface ListenWatchOptions {
  listening: Listening;
  /** How long connections may be refused; undefined: as long as the start may take. */
  limitSeconds?: number | undefined;
  /** Receives a text about the problem; undefined once the problem is over. */
  onNotice: (text: string | undefined) => void;
}

const LOOPBACK = /^(127\.|\[::1\])/;

const NOTICE_AFTER_MS = 60_000;

export class ListenWatch {
  readonly #options: ListenWatchOptions;
  #refusedSince: number | undefined;
  #isNoticed = false;

  constructor(options: ListenWatchOptions) {
    this.#options = options;
  }

  /** Something listens there. */
  answered(): void {
    this.#refusedSince = undefined;
    if (this.#isNoticed) this.#options.onNotice(undefined);
    this.#isNoticed = false;
  }

  /** A connection was refused, or closed at once. @throws Failure once that has taken too long */
  async refused(): Promise<void> {
    const { limitSeconds = Number.POSITIVE_INFINITY, onNotice } = this.#options;
    const now = performance.now();
    this.#refusedSince ??= now;
    const waited = now - this.#refusedSince;
    const isOver = waited >= limitSeconds * 1_000;
    if (!isOver && (this.#isNoticed || waited < NOTICE_AFTER_MS)) return;
    const text = await this.#describe(Math.round(waited / 1_000));
    if (isOver) throw external(text);
    this.#isNoticed = true;
    onNotice(text);
  }

  async #describe(seconds: number): Promise<string> {
    const { host, port, variables, addresses } = this.#options.listening;
    const found = await addresses().catch(() => undefined);
    const named = variables.join(" and ");
    return `the container's server has refused connections on port ${port} for ${seconds} s${foundText(found, host)}. It must listen on ${host}:${port}, which the variables ${named} set`;
  }
}

function foundText(found: readonly string[] | undefined, host: string): string {
  if (!found) return "";
  if (found.length === 0) return ": it listens on no port yet, and may still be loading";
  const isLocal = !LOOPBACK.test(host) && found.every((address) => LOOPBACK.test(address));
  const local = isLocal ? ", which only the container itself can reach" : "";
  return `: it listens on ${found.join(", ")}${local}`;
}
