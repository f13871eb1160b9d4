/** Calls of the deployment's API, with retries. */

import { z } from "zod";
import { errorFor, retryCall } from "../../../runner/src/control-plane/json-client.ts";
import { ControlPlaneError, noAnswer, statusOf } from "../../../runner/src/lib/error.ts";
import {
  type HttpAnswer,
  type OpenRequest,
  open,
  readAnswer,
} from "../../../runner/src/lib/http-client.ts";
import { exactText } from "../../lib/exact-json.ts";
import { parseJson } from "../../lib/json.ts";
import { pageOf } from "../../protocol/common.ts";
import { model, type Version, version } from "../../protocol/model.ts";
import { ownerName, user } from "../../protocol/user.ts";
import type { Access } from "../access.ts";
import { Failure } from "../failure.ts";
import { USER_AGENT } from "../folders.ts";
import type { ModelReference } from "../options.ts";

/** Retries cover about 3 s of an unreachable service. */
const RETRIES = { attempts: 4, baseMs: 500, maxMs: 2_000 };
/** Retries cover about 45 s after work that would be lost. */
const PATIENT_RETRIES = { attempts: 8, baseMs: 500, maxMs: 15_000 };
/** Time limit of a request: the service needs a while to assemble ten thousand parts. */
const TIMEOUT_MS = 120_000;

export interface ServiceOptions {
  signal: AbortSignal;
  onRetry: (error: unknown, delayMs: number) => void;
}

interface Post<T> {
  body?: object;
  headers?: Record<string, string>;
  isPatient?: boolean;
  /** Looks for the result of a request whose answer was lost, before it is sent again. */
  made?: () => Promise<T | undefined>;
}

interface Sent {
  /** A request with content is a POST and one without is a GET, unless it says otherwise. */
  method?: "DELETE" | "PATCH" | "PUT";
  content?: string;
  headers?: Record<string, string>;
  parse?: Parse;
}

/** Reads the text of an answer; JSON.parse loses digits of large numbers. */
type Parse = (text: string) => unknown;

export class Service {
  readonly access: Access;
  readonly #options: ServiceOptions;

  constructor(access: Access, options: ServiceOptions) {
    this.access = access;
    this.#options = options;
  }

  /** @param path below /v1. @throws ControlPlaneError; the signal's reason */
  get<T extends z.ZodType>(path: string, schema: T, parse?: Parse): Promise<z.output<T>> {
    return this.#retried(() => this.#send(path, schema, parse && { parse }));
  }

  /** Returns all items of a list that is never long. @param path without a query */
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
    const sent = { content, headers };
    let isAgain = false;
    const send = async () => {
      const found = isAgain ? await made?.() : undefined;
      isAgain = true;
      return found ?? this.#send(path, schema, sent);
    };
    return this.#retried(send, isPatient ? PATIENT_RETRIES : RETRIES);
  }

  put<T extends z.ZodType>(path: string, schema: T, body: object): Promise<z.output<T>> {
    return this.#retried(() =>
      this.#send(path, schema, { method: "PUT", content: JSON.stringify(body) }),
    );
  }

  patch<T extends z.ZodType>(path: string, schema: T, body: object): Promise<z.output<T>> {
    return this.#retried(() =>
      this.#send(path, schema, { method: "PATCH", content: JSON.stringify(body) }),
    );
  }

  async delete(path: string): Promise<void> {
    await deleteOnce(
      () => this.#send(path, z.unknown(), { method: "DELETE" }),
      (counted) => this.#retried(counted),
    );
  }

  async #send<T extends z.ZodType>(
    path: string,
    schema: T,
    { method, content, headers, parse = JSON.parse }: Sent = {},
  ): Promise<z.output<T>> {
    const { url } = this.access;
    const response = await send(`${url}/v1${path}`, {
      method: method ?? (content === undefined ? "GET" : "POST"),
      headers: { ...headersFor(this.access), "content-type": "application/json", ...headers },
      body: content,
      signal: this.#options.signal,
    });
    const { status, body: text } = response;
    if (status < 200 || status > 299) throw errorFor(status, response.headers["retry-after"], text);
    const answer = schema.safeParse(parseJson(text, parse));
    if (answer.success) return answer.data;
    const reason = `Unexpected response from ${path}: ${z.prettifyError(answer.error)}`;
    throw new ControlPlaneError(reason, { status });
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

/** One request and the whole answer, with any status. @throws ControlPlaneError; the signal's reason */
export async function send(
  url: string | URL,
  request: OpenRequest & { signal: AbortSignal },
): Promise<HttpAnswer> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    // A redirect is an answer: the token is for the configured address only.
    return await readAnswer(await open(new URL(url), { ...request, signal }));
  } catch (error) {
    request.signal.throwIfAborted();
    throw noAnswer(new URL(url).origin, error);
  }
}

type Send = () => Promise<unknown>;

/** @param retried sends it, and again where that may help */
export async function deleteOnce(send: Send, retried: (send: Send) => Promise<unknown>) {
  let mayBeDone = false;
  const watched = () =>
    send().catch((error: unknown) => {
      mayBeDone ||= (statusOf(error) ?? 500) >= 500;
      throw error;
    });
  await retried(watched).catch((error: unknown) => {
    if (!mayBeDone || statusOf(error) !== 404) throw error;
  });
}

/** The longest time that an interrupted command waits for the cancel. */
const PATIENCE_MS = 5_000;

export async function cancelSoon(access: Access, id: string): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const service = new Service(access, { signal, onRetry: () => {} });
  await service.post(`/predictions/${id}/cancel`, z.unknown()).catch((error: unknown) => {
    // A 409 means that the prediction has ended.
    if (statusOf(error) !== 409) throw error;
  });
}

/** Returns the name of the token's user, and so checks the token. */
export async function usernameOf(service: Service): Promise<string> {
  return ownerName(await service.get("/user", user));
}

/** @returns `owner/name`: a name alone is a model of the token's user */
export const fullName = async (service: Service, model: string): Promise<string> =>
  model.includes("/") ? model : `${await usernameOf(service)}/${model}`;

/** Whether a name is that of a deployment. @param path `owner/name` */
export const isDeployment = (service: Service, path: string): Promise<boolean> =>
  service.get(`/deployments/${path}`, z.unknown()).then(
    () => true,
    (error: unknown) => {
      if (statusOf(error) === 404) return false;
      throw error;
    },
  );

/** Returns the named version, or the model's default version. */
export async function readVersion(service: Service, reference: ModelReference): Promise<Version> {
  const path = `/models/${reference.model}`;
  if (reference.version !== undefined)
    return service.get(`${path}/versions/${reference.version}`, version);
  const { latest_version, default_version } = await service.get(path, model);
  if (default_version !== null && default_version !== latest_version?.number)
    return service.get(`${path}/versions/${default_version}`, version);
  if (latest_version) return latest_version;
  throw new Failure(
    `${reference.model} has no versions. Its owner can publish one with auspex publish.`,
  );
}
