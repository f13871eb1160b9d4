/** A caller of the API with a token. */
import { exports } from "cloudflare:workers";
import type { ValidationIssue } from "../../../src/protocol/common.ts";
import type { PredictionWithIO, TaskStatus } from "../../../src/protocol/prediction.ts";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";

export const ORIGIN = "https://auspex.test";

type Headers = Record<string, string>;
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Answer<Body> {
  status: number;
  headers: globalThis.Headers;
  body: Body;
}

/** The body of an error: a problem, or the `detail` of a 422. */
export interface Refusal {
  type?: string;
  title?: string;
  status?: number;
  detail: string | ValidationIssue[];
  request_id?: string;
}

export class Client {
  readonly token: string | undefined;

  constructor(token: string | undefined) {
    this.token = token;
  }

  /** @param path a path, or a whole address as pages have it */
  fetch(path: string, init: RequestInit & { headers?: Headers } = {}): Promise<Response> {
    const headers: Headers = {};
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`;
    Object.assign(headers, init.headers);
    return exports.default.fetch(new URL(path, ORIGIN).href, { ...init, headers });
  }

  /** Sends a body: an object, or its text. */
  send(method: string, path: string, body: unknown, headers: Headers = {}): Promise<Response> {
    return this.fetch(path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  post(path: string, body: unknown, headers?: Headers): Promise<Response> {
    return this.send("POST", path, body, headers);
  }

  put(path: string, body: unknown): Promise<Response> {
    return this.send("PUT", path, body);
  }

  async json<Body>(
    method: Method,
    path: string,
    body?: unknown,
    headers?: Headers,
  ): Promise<Answer<Body>> {
    const response =
      method === "GET" || method === "DELETE"
        ? await this.fetch(path, { method, headers: headers ?? {} })
        : await this.send(method, path, body ?? {}, headers);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text ? JSON.parse(text) : undefined,
    };
  }

  /** Returns the answer of a call that must succeed. */
  async ok<Body>(method: Method, path: string, body?: unknown): Promise<Body> {
    const answer = await this.json<Body>(method, path, body);
    if (answer.status === 200) return answer.body;
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  refused(path: string, body: unknown, headers?: Headers): Promise<Answer<Refusal>> {
    return this.json("POST", path, body, headers);
  }

  /** Creates a prediction, and throws if that fails. */
  async create(body: object, headers?: Headers): Promise<Answer<PredictionWithIO>> {
    const answer = await this.json<PredictionWithIO>("POST", "/v1/predictions", body, headers);
    if (answer.status !== 200 && answer.status !== 202) {
      throw new Error(`create answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return { ...answer, body: predictionWithIO.parse(answer.body) };
  }

  /** Returns a prediction, and throws if it does not exist. */
  async get(id: string): Promise<PredictionWithIO> {
    const { status, body } = await this.json("GET", `/v1/predictions/${id}`);
    if (status !== 200) throw new Error(`get answered ${status}: ${JSON.stringify(body)}`);
    return predictionWithIO.parse(body);
  }

  async status(id: string): Promise<TaskStatus> {
    return (await this.get(id)).status;
  }

  async cancel(id: string): Promise<number> {
    const response = await this.post(`/v1/predictions/${id}/cancel`, "");
    await response.text();
    return response.status;
  }

  stream(id: string, query = "", headers: Headers = {}): Promise<Response> {
    return this.fetch(`/v1/predictions/${id}/stream${query}`, { headers });
  }
}
