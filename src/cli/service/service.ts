/** Calls of the deployment's API, with retries. */

import { z } from "zod";
import { type Call, JsonClient } from "../../../runner/src/control-plane/json-client.ts";
import { retryCall } from "../../../runner/src/control-plane/retry.ts";
import { exactText } from "../../lib/exact-json.ts";
import { pageOf } from "../../protocol/common.ts";
import type { Access } from "../access/access.ts";
import { USER_AGENT } from "../package.ts";
import { deleteOnce } from "./delete-once.ts";

/** Somebody waits for the answer: covers about 3 s of an unreachable service. */
const RETRIES = { attempts: 4, baseMs: 500, maxMs: 2_000 };
/** Much was done before: covers about 45 s. */
const PATIENT_RETRIES = { attempts: 8, baseMs: 500, maxMs: 15_000 };
/** To assemble ten thousand parts takes the service a while. */
const TIMEOUT_MS = 120_000;

export interface ServiceOptions {
  signal: AbortSignal;
  onRetry: (error: unknown, delayMs: number) => void;
}

interface Post<T> {
  body?: object;
  headers?: Record<string, string>;
  isPatient?: boolean;
  /** What was made by one whose answer was lost, if it was: asked for before it is sent again. */
  made?: () => Promise<T | undefined>;
}

type Sent = Pick<Call, "method" | "body" | "content" | "isOnce" | "headers" | "parse">;

export class Service {
  readonly access: Access;
  readonly #client: JsonClient;
  readonly #options: ServiceOptions;

  constructor(access: Access, options: ServiceOptions) {
    this.access = access;
    this.#options = options;
    this.#client = new JsonClient(access.url, headersFor(access));
  }

  /** @param path below /v1. @param parse as of Call. @throws ControlPlaneError; the signal's reason */
  get<T extends z.ZodType>(
    path: string,
    schema: T,
    parse: Call["parse"] = JSON.parse,
  ): Promise<z.output<T>> {
    return this.#retried(() => this.#send(path, schema, { parse }));
  }

  /** Of a list that is never long, all. @param path without a query */
  async list<T extends z.ZodType>(path: string, item: T): Promise<z.output<T>[]> {
    const items: z.output<T>[] = [];
    let query = "page_size=50";
    for (;;) {
      const page = await this.get(`${path}?${query}`, pageOf(item));
      items.push(...page.items);
      if (page.next_cursor === null) return items;
      query = `page_size=50&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
  }

  /** May be sent twice: what it asks for must be the same then, or be found by `made`. */
  post<T extends z.ZodType>(
    path: string,
    schema: T,
    { body, headers = {}, isPatient, made }: Post<z.output<T>> = {},
  ): Promise<z.output<T>> {
    const content = body === undefined ? "" : exactText(body);
    const sent = { content, headers, isOnce: made !== undefined };
    let isAgain = false;
    const send = async () => {
      const found = isAgain ? await made?.() : undefined;
      isAgain = true;
      return found ?? this.#send(path, schema, sent);
    };
    return this.#retried(send, isPatient ? PATIENT_RETRIES : RETRIES);
  }

  put<T extends z.ZodType>(path: string, schema: T, body: object): Promise<z.output<T>> {
    return this.#retried(() => this.#send(path, schema, { method: "PUT", body }));
  }

  async delete(path: string): Promise<void> {
    // None is sent again unseen, as on a connection that was closed: that would find nothing.
    const sent = { method: "DELETE", isOnce: true } as const;
    await deleteOnce(
      () => this.#send(path, z.unknown(), sent),
      (counted) => this.#retried(counted),
    );
  }

  #send<T extends z.ZodType>(path: string, schema: T, sent: Sent = {}): Promise<z.output<T>> {
    const { signal } = this.#options;
    return this.#client.call(`/v1${path}`, schema, { ...sent, timeoutMs: TIMEOUT_MS, signal });
  }

  #retried<T>(send: () => Promise<T>, retries = RETRIES): Promise<T> {
    const { signal, onRetry } = this.#options;
    return retryCall(send, { ...retries, signal, onRetry });
  }
}

export const headersFor = ({ token }: Access): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  "user-agent": USER_AGENT,
});
