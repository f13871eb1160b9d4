/** An operation in JavaScript, with fetch. */
import type { Json } from "../../../protocol/common.ts";
import { literal } from "../../playground/code/literal.ts";
import { answersJson } from "./python.ts";
import type { SampleRequest } from "./request.ts";

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
    ...answerOf(request),
  ].join("\n");
}

function filesOf({ body, answer }: SampleRequest): string[] {
  const name = body?.isBytes ? "readFile" : answer?.isBytes ? "writeFile" : undefined;
  return name ? [`import { ${name} } from "node:fs/promises";`, ""] : [];
}

function answerOf(request: SampleRequest): string[] {
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
