/**
 * Where containers report to: one path per run. A report must also carry the token of the run's
 * container, so that no container speaks for another.
 *
 * A report is in memory as bytes, as text and as values, and may be large. So those of one run are
 * read one at a time, and so are large ones of all runs; the others wait unread, in the socket.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Door, type Opening, turnAway } from "../containers/door.ts";
import { Turns } from "../turns.ts";
import { readBounded } from "./http.ts";

/** Bytes: what most reports are below. As many of these are read at a time as there are runs. */
const LARGE = 1024 ** 2;
/** Cog from 0.17 on does not wait for one report before the next. */
const MAX_WAITING = 16;

export interface Times {
  /** For a turn. Cog up to 0.16 does nothing else meanwhile; a last report comes again after it. */
  turn: number;
  /** For a report to come whole, once it is read: 5 MB/s at most. */
  report: number;
}

/** Milliseconds. */
const TIMES: Times = { turn: 5_000, report: 30_000 };

export interface Expected {
  token: string;
  maxBytes: number;
  report(body: string): void;
  /** Something came that no honest container sends. */
  distrust(what: string): void;
}

export class Receiver {
  readonly #door: Door;
  readonly #times: Times;
  readonly #large = new Turns();

  constructor(door: Door, times = TIMES) {
    this.#door = door;
    this.#times = times;
  }

  /** Opens a path for one run. */
  expect(run: Expected): Opening {
    const turns = new Turns();
    const over = new AbortController();
    const { url, close } = this.#door.open(async (request, response, rest) => {
      if (rest !== "" || request.method !== "POST" || !isBearer(request, run.token)) {
        return turnAway(request, response, 404);
      }
      // Without a length it may be anything.
      const length = Number(request.headers["content-length"] ?? run.maxBytes);
      if (length > run.maxBytes) {
        turnAway(request, response, 413);
        return run.distrust(TOO_LARGE);
      }
      if (turns.length === MAX_WAITING) return turnAway(request, response, 503);
      const wait = AbortSignal.any([over.signal, AbortSignal.timeout(this.#times.turn)]);
      const read = () => this.#read(request, response, run);
      const inTurn = () => (length > LARGE ? this.#large.take(wait, read) : read());
      try {
        await turns.take(wait, inTurn);
      } catch (error) {
        if (error !== wait.reason) throw error;
        turnAway(request, response, 503);
      }
    });
    return {
      url,
      close() {
        close();
        over.abort(OVER);
      },
    };
  }

  async #read(request: IncomingMessage, response: ServerResponse, run: Expected): Promise<void> {
    const late = setTimeout(() => {
      request.destroy();
      run.distrust(`a report that took more than ${this.#times.report / 1_000} s to come`);
    }, this.#times.report);
    try {
      const body = await readBounded(request, run.maxBytes);
      if (body === undefined) return run.distrust(TOO_LARGE);
      // Before the report is looked at: a slow receiver blocks cancels in Cog up to 0.16.
      response.writeHead(200).end();
      run.report(body);
    } finally {
      clearTimeout(late);
    }
  }
}

const TOO_LARGE = "a report larger than the limits of output and logs allow";
/** A reason at hand: the one that `abort` makes for itself takes a stack trace. */
const OVER = "over";

export function isBearer({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? "");
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
