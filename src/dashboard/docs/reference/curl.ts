/** The curl command of an operation, from the examples of the OpenAPI document. */
import { exampleOf } from "../../../openapi/example.ts";
import { findSignature } from "../../../openapi/parameters.ts";
import { isBinary } from "../../../openapi/reference.ts";
import type {
  Content,
  DocumentedOperation,
  Operation,
  Parameter,
  Schemas,
} from "../../../openapi/types.ts";

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param base the base URL, without a trailing slash */
export function curlOf(
  { path, method, operation }: DocumentedOperation,
  base: string,
  schemas: Schemas,
): string {
  const parameters = (operation.parameters ?? []).filter((one): one is Parameter => "name" in one);
  const textOf = ({ schema = {} }: Parameter) =>
    encodeURIComponent(String(exampleOf(schema, schemas)));
  const filled = parameters
    .filter((one) => one.in === "path")
    .reduce((text, one) => text.replace(`{${one.name}}`, textOf(one)), path);
  const query = parameters
    .filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${textOf(one)}`)
    .join("&");
  const verb = method === "get" ? "" : `-X ${method.toUpperCase()} `;
  const body = operation.requestBody;
  const sent = firstOf(body && "content" in body ? body.content : {});
  const flag = flagOf(sent, firstOf(operation.responses?.[200]?.content ?? {}));
  const lines = [`curl ${verb}${flag}${quoted(base + filled + (query && `?${query}`))}`];
  const token = tokenOf(operation);
  if (token) lines.push(`-H "Authorization: Bearer $${token}"`);
  if (sent) {
    lines.push(`-H 'Content-Type: ${sent.type}'`);
    lines.push(
      sent.isBytes ? "--data-binary @part" : `-d ${quoted(JSON.stringify(sent.example, null, 2))}`,
    );
  }
  return lines.join(" \\\n  ");
}

interface Media {
  type: string;
  isBytes: boolean;
  example: unknown;
}

/** The media type of the sample. */
function firstOf(content: Content): Media | undefined {
  const [first] = Object.entries(content);
  if (!first) return undefined;
  const [type, { schema = {}, example }] = first;
  return { type, isBytes: isBinary(schema), example };
}

/** -N streams events, -O saves a file, and -i shows the ETag header of an uploaded part. */
function flagOf(sent: Media | undefined, answered: Media | undefined): string {
  if (sent?.isBytes) return "-i ";
  if (answered?.isBytes) return "-O ";
  return answered?.type === "text/event-stream" ? "-N " : "";
}

/**
 * The variable with the token; undefined when none is needed. Where a signed URL is an alternative,
 * the sample uses the token, since a signature cannot be made up.
 */
function tokenOf(operation: Operation) {
  const { security = [{ accessToken: [] }] } = operation;
  const isPublic = security.some((way) => Object.keys(way).length === 0);
  if (isPublic && findSignature(operation)?.required !== false) return undefined;
  return security.some((way) => "operatorToken" in way) ? "OPERATOR_TOKEN" : "AUSPEX_TOKEN";
}
