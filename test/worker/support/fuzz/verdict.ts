/** Faults of an answer, according to the document. */
import { Validator } from "@cfworker/json-schema";
import { operationsIn } from "../../../../src/openapi/document.ts";
import {
  type Document,
  type DocumentedOperation,
  isBinary,
  type ResponseObject,
  type Schema,
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

const FORM = /^(multipart\/|application\/x-www-form)/;

/** Words that no answer may contain: messages of the database, and lines of a stack. */
const INSIDE = /D1_ERROR|SQLITE|^\s+at \S+ \(/m;

/** Operations whose answers contain a new secret of a webhook. */
const TELLS_SECRET = /^createWebhook(?:Endpoint|Secret)$/;

/**
 * Errors of a value's meaning, which the schema cannot declare: a value that does not exist; the image of a
 * version, which is named in one of two ways; the input of a prediction, which is validated against its
 * version's schema, and that schema against JSON Schema; sizes and times, which variables limit; the number
 * of ETags, which must match the upload's parts.
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

/** Whether a create with `stream: true` answered with the events that streamPrediction documents. */
const isStreamed = (id: string, { headers }: Received): boolean =>
  id.startsWith("createPrediction") &&
  headers.get("content-type")?.startsWith("text/event-stream") === true;

export class Verdict {
  readonly #document: Document;
  readonly #operations: DocumentedOperation[];
  /** Patterns of the operations' addresses, in the order of the operations. */
  readonly #addresses: RegExp[];
  readonly #secrets: string[];
  readonly #validators = new Map<Schema, Validator>();

  /** @param secrets texts that no answer may contain */
  constructor(document: Document, secrets: string[]) {
    this.#document = document;
    this.#operations = operationsIn(document);
    this.#addresses = this.#operations.map(
      ({ path }) => new RegExp(`^/v1${path.replaceAll(/{\w+}/g, "[^/]+")}$`),
    );
    this.#secrets = secrets;
  }

  /** Returns the faults of an answer; empty when it has none. */
  of(sent: Sent, received: Received): string[] {
    return [
      ...this.#generalFaults(received),
      ...this.#declaredFaults(sent, received),
      ...this.#bodyFaults(sent, received),
    ];
  }

  /** Returns the operation that a request meets, whichever it was planned for. */
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
    // A preflight of CORS is allowed on every address.
    if (sent.method === "OPTIONS" && status === 204) return;
    const isHead = sent.method === "HEAD";
    if (isHead && text !== "") yield "HEAD with a body";
    // A trick may lead to the registry, whose answers are not in the document.
    if (isOfRegistry(sent)) return yield* registryFaults(received);
    const one = this.operationOf(sent);
    const hasOthers = this.#at(sent.url).length > 0;
    const expected = one ? this.#answerOf(one, status) : strange(sent, status, hasOthers);
    if (!expected) yield `${status} is not declared`;
    else if (isStreamed(id, received)) return;
    else if (!isHead) yield* this.#contentFaults(expected, received);
  }

  /**
   * Yields a fault if a body that the document refuses is accepted, or one that it allows is refused for its
   * form.
   */
  *#bodyFaults(sent: Sent, { status, text }: Received): Generator<string> {
    const operation = this.operationOf(sent)?.operation;
    const schema = operation && bodyOf(operation);
    if (!schema || typeof sent.body !== "string") return;
    // A form may be allowed as well, and JSON that is called one has none of its fields.
    if (FORM.test(sent.headers["content-type"] ?? "")) return;
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

/** Returns the response of an address without the operation: a 405 if it has others, else a 404. */
const strange = ({ url }: Sent, status: number, hasOthers: boolean): ResponseObject | undefined => {
  if (status !== (hasOthers ? 405 : 404) && status !== 413) return undefined;
  const { pathname } = new URL(url);
  const below = Object.entries(PROBLEM_BELOW);
  const [, own] = below.find(([path]) => pathname.startsWith(path)) ?? [];
  // A convention's path below another base URL may get the convention's error, which names the right base URL.
  const [, other] = below.find(([path]) => pathname.includes(path.replace("/v1", ""))) ?? [];
  return own ?? { ...PROBLEM, content: { ...PROBLEM.content, ...other?.content } };
};

const isOfRegistry = ({ url }: Sent) => new URL(url).pathname.startsWith("/v2/");

const issuesIn = (text: string) => validationError.safeParse(JSON.parse(text)).data?.detail ?? [];

/** Stands for JSON that is nested deeper than the call stack, so that its validity is unknown. */
const TOO_DEEP = Symbol("too deep");

/** Returns undefined for a text that is not JSON. A byte order mark is no part of the text. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""), wellFormed);
  } catch (error) {
    return error instanceof RangeError ? TOO_DEEP : undefined;
  }
}

/** Replaces lone surrogates in names: the validator writes names into URIs, and would throw. */
const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name.toWellFormed(), one]))
    : value;
