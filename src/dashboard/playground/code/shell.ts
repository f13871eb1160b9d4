/** Samples for a shell, with curl. */
import { readableJson } from "../../../lib/text.ts";
import type { Json } from "../../../protocol/common.ts";
import type { ApiId, Input } from "./bodies.ts";
import { plainText } from "./literal.ts";
import { PATHS } from "./paths.ts";

/** Quoted for a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function shellSample(id: ApiId, origin: string, asked: Input): string {
  const file = FILES[id];
  const body = ofShell(id, asked);
  const lines = [
    `curl -N ${quoted(origin + PATHS[id])}`,
    `-H "Authorization: Bearer $AUSPEX_TOKEN"`,
    ...(id === "messages" ? ["-H 'anthropic-version: 2023-06-01'"] : []),
    ...(file === undefined
      ? ["-H 'Content-Type: application/json'", `-d ${quoted(readableJson(body))}`]
      : [...Object.entries(body).map(formField), `-F ${file}`]),
    ...(id === "speech" ? [`-o speech.${body.response_format}`] : []),
  ];
  return lines.join(" \\\n  ");
}

/** Sent as files of a form. */
const FILES: Partial<Record<ApiId, string>> = {
  edits: "image=@picture.png",
  transcriptions: "file=@speech.wav",
};

/** Not by `-F`, which reads a value that begins with @ or < as the name of a file. */
const formField = ([name, value]: [string, Json]) =>
  `--form-string ${quoted(`${name}=${plainText(value)}`)}`;

function ofShell(id: ApiId, body: Input): Input {
  // The clients stream messages by a call of their own.
  if (id === "messages") return { ...body, stream: true };
  // A terminal shows an address, and would be full of base64.
  return id === "images" || id === "edits" ? { ...body, response_format: "url" } : body;
}
