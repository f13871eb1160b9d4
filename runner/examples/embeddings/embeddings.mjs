// The embeddings endpoint.

import { setImmediate as breathe } from "node:timers/promises";
import { Refusal, take } from "./openai.mjs";
import { DIMENSIONS } from "./vectors.mjs";

const MAX_TEXTS = 2048;
/** Texts per batch. Between batches other requests run, and a disconnected client is noticed. */
const BREATH = 32;

export function embeddings(embedder) {
  return async (body, signal) => {
    const texts = textsOf(take(body.input, "input", { type: "string | array" }));
    const format = take(body.encoding_format, "encoding_format", {
      type: "string",
      options: ["float", "base64"],
      otherwise: "float",
    });
    const dimensions = take(body.dimensions, "dimensions", {
      type: "integer",
      min: 1,
      max: DIMENSIONS,
      otherwise: DIMENSIONS,
    });
    const data = [];
    let tokens = 0;
    for (const [index, text] of texts.entries()) {
      if (index % BREATH === 0) await breathe();
      signal.throwIfAborted();
      const embedded = embedder.embed(text, dimensions);
      tokens += embedded.tokens;
      data.push({ object: "embedding", index, embedding: written(embedded.vector, format) });
    }
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    return { object: "list", data, model: body.model, usage };
  };
}

/** Returns the vector as float32: its bytes in little-endian order, or seven digits. */
function written(vector, format) {
  const short = Float32Array.from(vector);
  if (format === "base64") return Buffer.from(short.buffer).toString("base64");
  return Array.from(short, (part) => Number(part.toPrecision(7)));
}

/**
 * Rejects token arrays: they contain token ids of another model's tokenizer, which mean nothing to
 * this one.
 */
function textsOf(input) {
  const texts = [input].flat();
  const wrong = (message, code) => new Refusal(400, message, { param: "input", code });
  if (texts.length === 0)
    throw wrong("Invalid 'input': expected at least one text.", "empty_array");
  if (texts.length > MAX_TEXTS)
    throw wrong(`Invalid 'input': at most ${MAX_TEXTS} texts.`, "array_above_max_length");
  if (texts.flat().every(Number.isInteger))
    throw wrong(
      "This model does not take tokens: send the text (in LangChain for Python: check_embedding_ctx_length=False).",
      "invalid_type",
    );
  for (const [index, text] of texts.entries()) {
    if (take(text, `input[${index}]`, { type: "string" }) === "")
      throw wrong("Invalid 'input': a text is empty.", "string_below_min_length");
  }
  return texts;
}
