/** A command line that makes the call, put together from the examples of the document. */

import { exampleOf } from "../../openapi/example.ts";
import type { DocumentedOperation, Parameter, Schemas } from "../../openapi/types.ts";

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param base the address that paths begin from, without a slash at its end. */
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
  const streams = Object.keys(operation.responses?.[200]?.content ?? {});
  const lines = [
    `curl ${streams.at(0) === "text/event-stream" ? "-N " : verb}${quoted(base + filled + (query && `?${query}`))}`,
  ];
  const token = tokenOf(operation.security);
  if (token) lines.push(`-H "Authorization: Bearer $${token}"`);
  const body = operation.requestBody;
  if (body && "content" in body) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d ${quoted(JSON.stringify(body.content["application/json"]?.example, null, 2))}`);
  }
  return lines.join(" \\\n  ");
}

/** The variable that holds the token, or undefined where none is needed. */
function tokenOf(security: DocumentedOperation["operation"]["security"] = [{ accessToken: [] }]) {
  if (security.some((way) => Object.keys(way).length === 0)) return undefined;
  return security.some((way) => "operatorToken" in way) ? "OPERATOR_TOKEN" : "AUSPEX_TOKEN";
}
