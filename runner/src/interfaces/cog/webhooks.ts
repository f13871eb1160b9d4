/**
 * Receives the reports of Cog containers: one path per run. A report must also carry the token of
 * the run's container, so that no container can report for another.
 *
 * A report may be large, and is in memory as bytes, text and values. So the reports of one run are
 * read one at a time, and so are the large ones of all runs; the others wait unread in their
 * sockets.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { SaveFile } from "../../files/output-queue.ts";
import { type CallbackServer, type Endpoint, refuse } from "../../lib/callback-server.ts";
import { Failure } from "../../lib/failure.ts";
import { Mutex } from "../../lib/mutex.ts";
import { readText } from "../../lib/read-text.ts";
import { INLINE_BYTES, readReport } from "../read-report.ts";
import { MEGABYTE, ReadTurn, TURN_MS } from "../read-turn.ts";

/** Cog 0.17 and later does not wait for one report before it sends the next. */
const MAX_WAITING = 16;

export interface TurnTimes {
  /**
   * The wait for the first turn. Cog up to 0.16 does nothing else meanwhile; it sends a final report again.
   */
  waitMs: number;
  /** A turn, in which a megabyte or the rest must arrive. */
  turnMs: number;
}

const TIMES: TurnTimes = { waitMs: 5_000, turnMs: TURN_MS };

export interface WebhookRun {
  token: string;
  maxBytes: number;
  /**
   * Stores large files of the report, which do not count toward `maxBytes`; undefined if reports have no
   * files.
   */
  saveFile: SaveFile | undefined;
  report(body: string): void;
  /** Called if a file could not be stored. */
  fail(failure: Failure): void;
  /** Called if the container sent something invalid. */
  distrust(what: string): void;
}

export interface WebhookEndpoint extends Endpoint {
  /** Whether a report is waiting or being read. The duration of that says nothing about the container. */
  readonly isReceiving: boolean;
  /** How many reports have arrived, read or rejected. */
  readonly count: number;
}

export class CogWebhooks {
  readonly #server: CallbackServer;
  readonly #times: TurnTimes;
  readonly #large = new Mutex();

  constructor(server: CallbackServer, times = TIMES) {
    this.#server = server;
    this.#times = times;
  }

  /** Opens a path for one run. */
  expect(run: WebhookRun): WebhookEndpoint {
    const mutex = new Mutex();
    const closed = new AbortController();
    let count = 0;
    const { url, close } = this.#server.open(async (request, response, rest) => {
      if (rest !== "" || request.method !== "POST" || !isBearer(request, run.token)) {
        return refuse(request, response, 404);
      }
      count += 1;
      // A report without a content length may be of any size.
      const length = Number(request.headers["content-length"] ?? run.maxBytes);
      if (!run.saveFile && length > run.maxBytes) {
        refuse(request, response, 413);
        return run.distrust(TOO_LARGE);
      }
      if (mutex.length === MAX_WAITING) return refuse(request, response, 503);
      const isLarge = length > MEGABYTE;
      // The signal is made only if the report may wait: most need not, and its timer goes on after its use.
      const mayWait = isLarge || mutex.length > 0;
      const wait = mayWait
        ? AbortSignal.any([closed.signal, AbortSignal.timeout(this.#times.waitMs)])
        : closed.signal;
      const turn = new ReadTurn({
        mutex: isLarge ? this.#large : new Mutex(),
        turnMs: this.#times.turnMs,
        end: closed.signal,
        onStalled: () => this.#giveUp(request, run),
      });
      try {
        await mutex.run(wait, async () => {
          await turn.begin(wait);
          const body = await readBody(request, length, run, turn);
          if (body === undefined) return run.distrust(TOO_LARGE);
          // Respond before the report is processed: Cog up to 0.16 cannot cancel until it has the
          // response.
          response.writeHead(200).end();
          run.report(body);
        });
      } catch (error) {
        if (error instanceof Failure) run.fail(error);
        else if (error !== wait.reason) throw error;
        refuse(request, response, 503);
      } finally {
        turn.end();
      }
    });
    return {
      url,
      close() {
        close();
        if (mutex.length > 0) closed.abort(CLOSED);
      },
      get isReceiving() {
        return mutex.length > 0;
      },
      get count() {
        return count;
      },
    };
  }

  #giveUp(request: IncomingMessage, run: WebhookRun): void {
    request.destroy();
    run.distrust(`less than 1 MB of a report in ${this.#times.turnMs / 1_000} s`);
  }
}

/** Returns undefined if the body is too large. */
function readBody(
  request: IncomingMessage,
  length: number,
  { maxBytes, saveFile }: WebhookRun,
  turn: ReadTurn,
): Promise<string | undefined> {
  // The body is too short to have a file that is stored.
  if (length <= INLINE_BYTES) return readText(request, maxBytes);
  const backpressure = (size: number) => turn.progress(size);
  return readReport(request, { maxBytes, saveFile, backpressure });
}

const TOO_LARGE = "a report that exceeds the limits of output and logs";
/** The explicit reason avoids the default one, which captures a stack trace. */
const CLOSED = "closed";

export function isBearer({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? "");
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
