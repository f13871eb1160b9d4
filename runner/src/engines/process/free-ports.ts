/**
 * Ports for the servers of models. The system may offer a port again before its server listens: two models
 * that started at once were then mistaken for each other.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import { ofMachine } from "../../lib/failure.ts";

/** Ports that are not given again: more than a machine starts servers in a minute. */
const REMEMBERED = 1_000;
const MAX_TRIES = 50;

export class FreePorts {
  readonly #host: string;
  readonly #find: (host: string) => Promise<number | undefined>;
  /** Oldest first. */
  readonly #given = new Set<number>();

  /** @param find names a port that is free at this moment */
  constructor(host: string, find = freePort) {
    this.#host = host;
    this.#find = find;
  }

  /** @throws Failure when there is none */
  async take(): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const port = await this.#find(this.#host);
      if (port === undefined || this.#given.has(port)) continue;
      this.#given.add(port);
      const [oldest] = this.#given;
      if (this.#given.size > REMEMBERED && oldest !== undefined) this.#given.delete(oldest);
      return port;
    }
    throw ofMachine("no port is free on the runner's machine");
  }
}

async function freePort(host: string): Promise<number | undefined> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const address = server.address();
  server.close();
  return address === null || typeof address === "string" ? undefined : address.port;
}
