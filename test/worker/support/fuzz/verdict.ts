/** What is wrong with an answer, by the document. */
import { Validator } from "@cfworker/json-schema";
import { operationsIn } from "../../../../src/openapi/document.ts";
import { isBinary } from "../../../../src/openapi/reference.ts";
import type {
  Document,
  DocumentedOperation,
  ResponseObject,
  Schema,
} from "../../../../src/openapi/types.ts";
import { validationError } from "../../../../src/protocol/common.ts";
import { bodyOf } from "../document.ts";
import { registryFaults } from "./registry-verdict.ts";
import type { Sent } from "./tricks.ts";

export interface Received {
  status: number;
  headers: Headers;
  text: string;
}

/** What nobody outside may read: the words of the database, and lines of a stack. */
const INSIDE = /D1_ERROR|SQLITE|^\s+at \S+ \(/m;

/** The answers that a secret of webhooks is in, each time a new one. */
const TELLS_SECRET = /^createWebhook(?:Endpoint|Secret)$/;

/**
 * A value that is nowhere, say; a version names its image in one of two ways; the input of a prediction is
 * held against its version's own schema, and that against what JSON Schema is; sizes and times against
 * variables of the deployment, the number of ETags against that of an upload's parts.
 */
const MEANING =
  /value_error$|^(?:input|schemas) |^(?:size|retention_seconds) (?:less_than_equal|finite_number)$|^etags too_(?:short|long)$|^container_image_digest missing$/;

const PROBLEM: ResponseObject = {
  description: "",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};

const conventionProblem = (schema: string): ResponseObject => ({
  description: "",
  content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } },
});

const PROBLEM_BELOW: Record<string, ResponseObject> = {
  "/v1/vendora/": conventionProblem("VendoraError"),
  "/v1/vendorb/": conventionProblem("VendorbError"),
};

/** Creates with `stream: true` answer with the events of streamPrediction, which documents them. */
const isStreamed = (id: string, { headers }: Received): boolean =>
  id.startsWith("createPrediction") &&
  headers.get("content-type")?.startsWith("text/event-stream") === true;

export class Verdict {
  readonly #document: Document;
  readonly #operations: DocumentedOperation[];
  /** What their addresses look like, in their order. */
  readonly #addresses: RegExp[];
  readonly #secrets: string[];
  readonly #validators = new Map<Schema, Validator>();

  /** @param secrets what no answer may contain */
  constructor(document: Document, secrets: string[]) {
    this.#document = document;
    this.#operations = operationsIn(document);
    this.#addresses = this.#operations.map(
      ({ path }) => new RegExp(`^/v1${path.replaceAll(/{\w+}/g, "[^/]+")}$`),
    );
    this.#secrets = secrets;
  }

  /** Empty when nothing is. */
  of(sent: Sent, received: Received): string[] {
    return [
      ...this.#generalFaults(received),
      ...this.#declaredFaults(sent, received),
      ...this.#bodyFaults(sent, received),
    ];
  }

  /** The operation that a request meets, whatever it was made for. */
  operationOf({ method, url }: Sent): DocumentedOperation | undefined {
    const name = method === "HEAD" ? "GET" : method;
    return this.#at(url).find((one) => one.method.toUpperCase() === name);
  }

  #at(url: string): DocumentedOperation[] {
    const { pathname } = new URL(url);
    return this.#operations.filter((_, n) => this.#addresses[n]?.test(pathname));
  }

  *#generalFaults({ status, headers, text }: Received): Generator<string> {
    if (status >= 500) yield "a 5xx";
    if (!headers.get("x-request-id")) yield "no x-request-id";
    if (this.#secrets.some((secret) => text.includes(secret))) yield "shows a token";
    if (INSIDE.test(text)) yield "shows its inside";
    if (status === 401 && !headers.get("www-authenticate")) yield "401 without WWW-Authenticate";
    if (status === 405 && !headers.get("allow")) yield "405 without Allow";
    if (status === 429 && !headers.get("retry-after")) yield "429 without Retry-After";
    if (status >= 400 && headers.get("cache-control") !== "no-store") yield "a cacheable error";
  }

  *#declaredFaults(sent: Sent, received: Received): Generator<string> {
    const { status, text } = received;
    const id = this.operationOf(sent)?.operation.operationId ?? "";
    if (text.includes("whsec_") && !TELLS_SECRET.test(id)) yield "shows a secret";
    // A preflight of CORS, wherever.
    if (sent.method === "OPTIONS" && status === 204) return;
    const isHead = sent.method === "HEAD";
    if (isHead && text !== "") yield "HEAD with a body";
    // A trick has led it astray: what registries answer is no part of the document.
    if (isOfRegistry(sent)) return yield* registryFaults(received);
    const one = this.operationOf(sent);
    const hasOthers = this.#at(sent.url).length > 0;
    const expected = one ? this.#answerOf(one, status) : strange(sent, status, hasOthers);
    if (!expected) yield `${status} is not declared`;
    else if (isStreamed(id, received)) return;
    else if (!isHead) yield* this.#contentFaults(expected, received);
  }

  /** What the document does not allow is not accepted; what it allows is not refused for its form. */
  *#bodyFaults(sent: Sent, { status, text }: Received): Generator<string> {
    const operation = this.operationOf(sent)?.operation;
    const schema = operation && bodyOf(operation);
    if (!schema || typeof sent.body !== "string") return;
    const value = jsonIn(sent.body);
    if (value === TOO_DEEP) return;
    const fits = value !== undefined && this.#validatorOf(schema).validate(value).valid;
    if (status < 300 && !fits) yield "accepts a body that the document does not";
    if (status !== 422 || !fits) return;
    for (const { loc, type, msg } of issuesIn(text))
      if (loc[0] === "body" && !MEANING.test(`${loc[1]} ${type}`))
        yield `refuses what the document allows: ${loc.join(".")}: ${msg}`;
  }

  #answerOf({ operation }: DocumentedOperation, status: number): ResponseObject | undefined {
    const own: Record<string, ResponseObject> = operation.responses ?? {};
    const answer = own[status];
    if (!answer || !("$ref" in answer)) return answer;
    const name = String(answer.$ref).replace("#/components/responses/", "");
    const shared = this.#document.components?.responses?.[name];
    return shared && !("$ref" in shared) ? shared : undefined;
  }

  *#contentFaults(
    { content = {} }: ResponseObject,
    { headers, text }: Received,
  ): Generator<string> {
    const type = headers.get("content-type");
    if (type === null || text === "") {
      if (Object.keys(content).length > 0) yield "no body where one is declared";
      return;
    }
    const [bare = type] = type.split("; charset=");
    const media = content[type] ?? content[bare] ?? content["*/*"];
    if (!media) yield `${type} is not declared`;
    else if (media.schema && !isBinary(media.schema) && type.endsWith("json"))
      yield* this.#schemaFaults(media.schema, text);
  }

  *#schemaFaults(schema: Schema, text: string): Generator<string> {
    const value: unknown = JSON.parse(text);
    const { errors } = this.#validatorOf(schema).validate(value);
    const [innermost] = errors.slice(-1);
    if (innermost) yield `${innermost.instanceLocation} does not fit: ${innermost.error}`;
    for (const { loc } of issuesIn(text))
      if (!/^(body|query|path|header)$/.test(loc[0] ?? "")) yield `a loc of nowhere: ${loc}`;
  }

  #validatorOf(schema: Schema): Validator {
    const { components } = this.#document;
    const made =
      this.#validators.get(schema) ??
      new Validator({ ...JSON.parse(JSON.stringify(schema)), components });
    this.#validators.set(schema, made);
    return made;
  }
}

/** Of an address that has no such operation: a 405 where it has others, else a 404. */
const strange = ({ url }: Sent, status: number, hasOthers: boolean): ResponseObject | undefined => {
  if (status !== (hasOthers ? 405 : 404) && status !== 413) return undefined;
  return PROBLEM_BELOW[new URL(url).pathname.slice(0, "/v1/vendora/".length)] ?? PROBLEM;
};

const isOfRegistry = ({ url }: Sent) => new URL(url).pathname.startsWith("/v2/");

const issuesIn = (text: string) => validationError.safeParse(JSON.parse(text)).data?.detail ?? [];

/** Nested deeper than our call stack: whether it fits is not for us to say. */
const TOO_DEEP = Symbol("too deep");

/** Undefined where it is none. A byte order mark is no part of a text that was bytes. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""), wellFormed);
  } catch (error) {
    return error instanceof RangeError ? TOO_DEEP : undefined;
  }
}

/** With names that the validator can take: it writes them into URIs, where half a character throws. */
const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name.toWellFormed(), one]))
    : value;
