/** The smallest request of the same kind as a canceled call: it makes the server update its metrics. */
import type { Json } from "../../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../../src/protocol/runner.ts";
import { PATHS, requestBody } from "./request.ts";

type Body = Record<string, Json>;

export interface SmallestRequest {
  path: string;
  type: string;
  body: string | Uint8Array;
}

/** @param input of the canceled call: a server may have no other voice than the one it names */
export function smallestRequest(
  call: OpenAiCall | null,
  input: Body,
  model: string | undefined,
): SmallestRequest {
  switch (call) {
    case "completions":
      return json(call, { model: input.model ?? null, prompt: ".", max_tokens: 1 }, model);
    case "rerank":
      return json(call, { model: input.model ?? null, query: ".", documents: ["."] }, model);
    case "embeddings":
    case "moderations":
      return json(call, { model: input.model ?? null, input: "." }, model);
    case "audio_speech":
      return json(
        call,
        { model: input.model ?? null, input: ".", voice: input.voice ?? null },
        model,
      );
    case "audio_transcriptions":
    case "audio_translations":
      return form(call, String(model ?? input.model));
    default: {
      const messages = [{ role: "user", content: "." }];
      return json(
        "chat_completions",
        { model: input.model ?? null, messages, max_tokens: 1 },
        model,
      );
    }
  }
}

const json = (call: OpenAiCall, input: Body, model: string | undefined): SmallestRequest => ({
  path: PATHS[call],
  type: "application/json",
  body: JSON.stringify(requestBody(call, input, model)),
});

const BOUNDARY = "auspex";
const SAMPLES = 1_600;

/** With a tenth of a second of silence. */
function form(call: OpenAiCall, model: string): SmallestRequest {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name=`;
  const body = Buffer.concat([
    Buffer.from(`${head}"model"\r\n\r\n${model}\r\n`),
    Buffer.from(`${head}"file"; filename="silence.wav"\r\ncontent-type: audio/wav\r\n\r\n`),
    silence(),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  return { path: PATHS[call], type: `multipart/form-data; boundary=${BOUNDARY}`, body };
}

/** A WAV file: mono, 16 bits, 16 kHz. */
function silence(): Buffer {
  const wav = Buffer.alloc(44 + 2 * SAMPLES);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write("WAVEfmt ", 8);
  for (const [at, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, 2 * SAMPLES],
  ] as const)
    wav.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    wav.writeUInt16LE(value, at);
  wav.write("data", 36);
  return wav;
}
