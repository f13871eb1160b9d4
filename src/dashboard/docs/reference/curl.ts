/** The curl command of an operation. */
import type { SampleRequest } from "./request.ts";

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(request: SampleRequest): string {
  const { url, method, token, body } = request;
  const verb = method === "GET" ? "" : `-X ${method} `;
  const lines = [`curl ${verb}${flagOf(request)}${quoted(url)}`];
  if (token) lines.push(`-H "Authorization: Bearer $${token}"`);
  if (body) {
    lines.push(`-H 'Content-Type: ${body.type}'`);
    lines.push(
      body.isBytes ? "--data-binary @part" : `-d ${quoted(JSON.stringify(body.example, null, 2))}`,
    );
  }
  return lines.join(" \\\n  ");
}

/** -N streams events, -O saves a file, and -i shows the ETag header of an uploaded part. */
function flagOf({ body, answer }: SampleRequest): string {
  if (body?.isBytes) return "-i ";
  if (answer?.isBytes) return "-O ";
  return answer?.type === "text/event-stream" ? "-N " : "";
}
