/** Calls of the deployment's API, with retries. */
import type { z } from "zod";
import { JsonClient } from "../../../runner/src/control-plane/json-client.ts";
import { retryCall } from "../../../runner/src/control-plane/retry.ts";
import type { Access } from "../access/access.ts";
import { USER_AGENT } from "../package.ts";

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

export class Service {
  readonly access: Access;
  readonly #client: JsonClient;
  readonly #options: ServiceOptions;

  constructor(access: Access, options: ServiceOptions) {
    this.access = access;
    this.#options = options;
    this.#client = new JsonClient(access.url, () => headersFor(access));
  }

  /** @param path below /v1. @throws ControlPlaneError; the signal's reason */
  get<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T>> {
    return this.#call(path, schema, {});
  }

  /** May be sent twice: what it asks for must be the same then, or be found by `made`. */
  post<T extends z.ZodType>(
    path: string,
    schema: T,
    post: Post<z.output<T>> = {},
  ): Promise<z.output<T>> {
    const content = post.body === undefined ? "" : JSON.stringify(post.body);
    return this.#call(path, schema, { ...post, content });
  }

  #call<T extends z.ZodType>(
    path: string,
    schema: T,
    { content, headers, isPatient, made }: Post<z.output<T>> & { content?: string },
  ): Promise<z.output<T>> {
    const { signal, onRetry } = this.#options;
    const call = {
      timeoutMs: TIMEOUT_MS,
      signal,
      ...(content !== undefined && { content }),
      ...(headers && { headers }),
      isOnce: made !== undefined,
    };
    const retries = isPatient ? PATIENT_RETRIES : RETRIES;
    let isAgain = false;
    const send = async () => {
      const found = isAgain ? await made?.() : undefined;
      isAgain = true;
      return found ?? this.#client.call(`/v1${path}`, schema, call);
    };
    return retryCall(send, { ...retries, signal, onRetry });
  }
}

export const headersFor = ({ token }: Access): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  "user-agent": USER_AGENT,
});
