/** The example request of an operation as code. */
import type { Json } from "../../../protocol/common.ts";
import { literal, pythonLiteral } from "../../playground/code/literal.ts";
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

/** With fetch. */
export function javascriptOf(request: SampleRequest): string {
  const { url, method, token, body } = request;
  const headers = [
    token && `Authorization: \`Bearer \${process.env.${token}}\``,
    body && `"Content-Type": ${literal(body.type)}`,
  ].filter((line) => typeof line === "string");
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...(headers.length > 0
      ? ["  headers: {", ...headers.map((line) => `    ${line},`), "  },"]
      : []),
    ...(body && !body.isBytes
      ? [`  body: JSON.stringify(${literal(body.example as Json, "  ")}),`]
      : []),
    ...(body?.isBytes ? ['  body: await readFile("part"),'] : []),
  ];
  const call =
    options.length > 0 ? [`${literal(url)}, {`, ...options, "}"].join("\n") : literal(url);
  return [
    ...filesOf(request),
    `const response = await fetch(${call});`,
    "if (!response.ok) throw new Error(await response.text());",
    ...javascriptAnswer(request),
  ].join("\n");
}

function filesOf({ body, answer }: SampleRequest): string[] {
  const name = body?.isBytes ? "readFile" : answer?.isBytes ? "writeFile" : undefined;
  return name ? [`import { ${name} } from "node:fs/promises";`, ""] : [];
}

function javascriptAnswer(request: SampleRequest): string[] {
  const { body, answer } = request;
  if (body?.isBytes) return ['console.log(response.headers.get("etag"));'];
  if (answersJson(request)) return ["console.log(await response.json());"];
  if (answer?.isBytes)
    return ['await writeFile("file", Buffer.from(await response.arrayBuffer()));'];
  if (answer)
    return [
      "for await (const text of response.body.pipeThrough(new TextDecoderStream())) {",
      "  process.stdout.write(text);",
      "}",
    ];
  return ["console.log(response.status);"];
}

/** With the standard library. */
export function pythonOf(request: SampleRequest): string {
  const { url, method, token, body } = request;
  const headers = [
    token && `"Authorization": "Bearer " + os.environ["${token}"]`,
    body && `"Content-Type": ${pythonLiteral(body.type)}`,
    // Some firewalls refuse the User-Agent that urllib has.
    '"User-Agent": "auspex-sample"',
  ].filter((line) => typeof line === "string");
  const isJson = body !== undefined && !body.isBytes;
  const imports = [
    ...(isJson || answersJson(request) ? ["json"] : []),
    ...(token ? ["os"] : []),
    "urllib.request",
  ];
  return [
    `import ${imports.join(", ")}`,
    "",
    "request = urllib.request.Request(",
    `    ${pythonLiteral(url)},`,
    ...(method === "GET" ? [] : [`    method="${method}",`]),
    "    headers={",
    ...headers.map((line) => `        ${line},`),
    "    },",
    ...(isJson
      ? [`    data=json.dumps(${pythonLiteral(body.example as Json, "    ")}).encode(),`]
      : []),
    ...(body?.isBytes ? ['    data=open("part", "rb").read(),'] : []),
    ")",
    "with urllib.request.urlopen(request) as response:",
    ...pythonAnswer(request).map((line) => `    ${line}`),
  ].join("\n");
}

export const answersJson = ({ body, answer }: SampleRequest): boolean =>
  !body?.isBytes && answer !== undefined && answer.type.includes("json");

function pythonAnswer(request: SampleRequest): string[] {
  const { body, answer } = request;
  if (body?.isBytes) return ['print(response.headers["ETag"])'];
  if (answersJson(request)) return ["print(json.load(response))"];
  if (answer?.isBytes) return ['open("file", "wb").write(response.read())'];
  if (answer) return ["for line in response:", '    print(line.decode(), end="")'];
  return ["print(response.status)"];
}
