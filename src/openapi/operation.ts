/** Completes the documentation of an operation with what middleware adds to its route. */
import type { Handler } from "hono";
import { isObject } from "../lib/json.ts";
import { allowAnonymous, allowSignedUrl, requireOperator } from "../middleware/authentication.ts";
import { conditionalGet } from "../middleware/conditional.ts";
import { requireStatusReader } from "../middleware/status-access.ts";
import { headerRefs, notModified, sharedAnswers } from "./answers.ts";
import { conventionAnswers, conventionOfPath, PREFIX } from "./convention-answers.ts";
import { describeParameter, findSignature, ifNoneMatchHeader, rangeHeader } from "./parameters.ts";
import {
  type Content,
  type DocumentedOperation,
  exampleOf,
  isBinary,
  type Operation,
  type ResponseObject,
  type Schemas,
  type Security,
} from "./types.ts";

/**
 * Adds security, examples and all possible responses.
 * @param handlers of the route. Derived from these, the document always matches the behavior
 */
export function completeOperation(
  one: DocumentedOperation,
  handlers: Handler[],
  schemas: Schemas,
): Operation {
  const { operation } = one;
  const { parameters = [], requestBody, responses } = operation;
  const declared: Record<string, ResponseObject> = responses ?? {};
  const convention = conventionOfPath(one.path);
  const security = securityOf(handlers);
  const ways = security ?? (convention === "vendorb" ? TOKEN_OR_KEY : undefined);
  const isConditional = handlers.includes(conditionalGet) || "304" in declared;
  const [prefix, shared] = convention
    ? ([PREFIX[convention], conventionAnswers[convention]] as const)
    : (["", sharedAnswers] as const);
  const successes = Object.entries(declared)
    .filter(([status]) => !(status in shared))
    .map(([status, answer]) => [status, completedAnswer(answer, isConditional, schemas, one)]);
  const errors = errorStatuses(one, security).map((status) => {
    const { description } = declared[status] ?? shared[status] ?? {};
    return [status, { $ref: `#/components/responses/${prefix}${status}`, description }];
  });
  return {
    ...operation,
    ...(ways && { security: ways }),
    parameters: parameters
      .map((one) => ("name" in one ? describeParameter(one) : one))
      .concat("206" in declared ? rangeHeader : [], isConditional ? ifNoneMatchHeader : []),
    ...(requestBody &&
      "content" in requestBody && {
        requestBody: { ...requestBody, content: withExamples(requestBody.content, schemas, "") },
      }),
    responses: {
      ...Object.fromEntries(successes),
      ...(isConditional && { 304: notModified }),
      ...Object.fromEntries(errors),
    },
  };
}

/** Clients of the Anthropic convention send the token in either way. */
const TOKEN_OR_KEY: Security = [{ accessToken: [] }, { apiKey: [] }];

/** Returns the security of an operation. Undefined: an access token is required, the default. */
function securityOf(handlers: Handler[]): Security | undefined {
  if (handlers.includes(requireOperator) || handlers.includes(requireStatusReader))
    return [{ accessToken: [] }, { operatorToken: [] }];
  if (handlers.includes(allowAnonymous) || handlers.includes(allowSignedUrl))
    return [{}, { accessToken: [] }];
  return undefined;
}

function errorStatuses(
  { path, method, operation }: DocumentedOperation,
  security: Security | undefined,
): string[] {
  const { requestBody, responses = {} } = operation;
  const statuses = ["401", "422", "429", "500", "503"];
  // Public operations need no scope. A signature can be invalid, and a token may be limited to other models than
  // its owner's private one.
  const isPublic = security?.some((way) => Object.keys(way).length === 0) ?? false;
  const isOfModel = path.includes("{model_name}");
  if (!isPublic || isOfModel || findSignature(operation)) statuses.push("403");
  // Only requests that refer to a resource can return 404.
  if (path.includes("{") || method === "post") statuses.push("404");
  // Raw bodies have a length given by their URL, and any media type.
  const isJson =
    requestBody && "content" in requestBody && "application/json" in requestBody.content;
  if (isJson) statuses.push("408", "413", "415");
  return statuses.concat(
    ["400", "402", "409", "416", "502", "504"].filter((status) => status in responses),
  );
}

function completedAnswer(
  { headers, content, ...answer }: ResponseObject,
  isConditional: boolean,
  schemas: Schemas,
  operation: DocumentedOperation,
): ResponseObject {
  return {
    ...answer,
    headers: { ...headers, ...headerRefs("x-request-id", ...(isConditional ? ["etag"] : [])) },
    ...(content && { content: withExamples(content, schemas, nextUrlOf(operation, schemas)) }),
  };
}

/** The next page of a list has the list's own address. */
function nextUrlOf(
  { path, operation: { parameters = [] } }: DocumentedOperation,
  schemas: Schemas,
): string {
  const own = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const found = parameters.find((one) => "name" in one && one.name === name);
    return String(exampleOf((found && "schema" in found && found.schema) || {}, schemas));
  });
  return `https://auspex.example.com${own}?cursor=MDE5ODBjM2U`;
}

const withNextUrl = (example: unknown, next_url: string) =>
  isObject(example) && "next_url" in example ? { ...example, next_url } : example;

const withExamples = (content: Content, schemas: Schemas, nextUrl: string): Content =>
  Object.fromEntries(
    Object.entries(content).map(([type, { schema, ...media }]) => [
      type,
      {
        schema,
        ...(schema &&
          !isBinary(schema) && {
            example: withNextUrl(exampleOf(schema, schemas), nextUrl),
          }),
        ...media,
      },
    ]),
  );
