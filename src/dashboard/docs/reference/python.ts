/** An operation in Python, with its standard library. */
import type { Json } from "../../../protocol/common.ts";
import { pythonLiteral } from "../../playground/code/literal.ts";
import type { SampleRequest } from "./request.ts";

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
    ...answerOf(request).map((line) => `    ${line}`),
  ].join("\n");
}

export const answersJson = ({ body, answer }: SampleRequest): boolean =>
  !body?.isBytes && answer !== undefined && answer.type.includes("json");

function answerOf(request: SampleRequest): string[] {
  const { body, answer } = request;
  if (body?.isBytes) return ['print(response.headers["ETag"])'];
  if (answersJson(request)) return ["print(json.load(response))"];
  if (answer?.isBytes) return ['open("file", "wb").write(response.read())'];
  if (answer) return ["for line in response:", '    print(line.decode(), end="")'];
  return ["print(response.status)"];
}
