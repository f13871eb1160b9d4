/** The backups of a deployment, over its API. */
import { z } from "zod";
import { retry } from "../../lib/retry.ts";
import { type Backup, backupList, backupUnderWay, restoreState } from "../../protocol/backup.ts";
import { Client, detailOf } from "../client.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** The message of `Refused` says what to do, so it is shown without a stack trace. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A call of a restore takes 15 s, and some more for its last part. */
const CALL_MS = 90_000;
const ATTEMPTS = 6;

export class BackupApi {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #baseMs: number;
  readonly #onRetry: (error: unknown) => void;

  /** @param baseMs the delay before the first retry */
  constructor(
    url: string,
    token: string,
    signal: AbortSignal,
    baseMs = 1_000,
    onRetry = (_error: unknown) => {},
  ) {
    this.#client = new Client(url.replace(/\/+$/, ""), token);
    this.#signal = signal;
    this.#baseMs = baseMs;
    this.#onRetry = onRetry;
  }

  list = () => this.#json(backupList, "GET", "");
  start = () => this.#json(backupUnderWay, "POST", "");
  restore = (id: string) => this.#json(restoreState, "POST", `/${id}/restore`);

  /** @param id undefined: the newest backup */
  async find(id: string | undefined): Promise<Backup> {
    const { backups } = await this.list();
    const found = id === undefined ? backups[0] : backups.find((one) => one.id === id);
    if (found) return found;
    throw new Refused(404, id === undefined ? "No backups yet." : `Backup ${id} not found.`);
  }

  async part(id: string, number: number): Promise<Bytes> {
    const read = async () => (await this.#call("GET", partPath(id, number))).arrayBuffer();
    return new Uint8Array(await this.#retried(read));
  }

  async putPart(id: string, number: number, body: Bytes): Promise<void> {
    await this.#retried(async () => {
      await (await this.#call("PUT", partPath(id, number), body)).text();
    });
  }

  #json<Body>(schema: z.ZodType<Body>, method: string, path: string): Promise<Body> {
    return this.#retried(async () => schema.parse(await (await this.#call(method, path)).json()));
  }

  async #call(method: string, path: string, body?: Bytes): Promise<Response> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(CALL_MS)]);
    const response = await this.#client.fetch(method, `/operator/backups${path}`, { body, signal });
    if (response.ok) return response;
    const text = await response.text();
    throw new Refused(response.status, detailOf(text) ?? `${method} returned ${response.status}`);
  }

  /** Every call can be repeated. */
  #retried<Result>(call: () => Promise<Result>): Promise<Result> {
    return retry(call, {
      attempts: ATTEMPTS,
      baseMs: this.#baseMs,
      maxMs: 30_000,
      signal: this.#signal,
      onRetry: this.#onRetry,
      isRetryable: (error) =>
        !this.#signal.aborted && !(error instanceof z.ZodError) && !isFinal(error),
    });
  }
}

const partPath = (id: string, number: number) => `/${id}/parts/${number}`;

const isFinal = (error: unknown) =>
  error instanceof Refused && error.status < 500 && error.status !== 429;
