// Embeddings: a vector that depends on the text or the tokens, in numbers that float32 holds exactly.

const DIMENSIONS = 8;

export function answerEmbeddings(
  { input, dimensions = DIMENSIONS, encoding_format },
  script,
  model,
) {
  const inputs = typeof input === "string" || typeof input[0] === "number" ? [input] : input;
  const data = inputs.map((one, index) => {
    const vector = vectorOf(one, dimensions);
    const packed = encoding_format === "base64" && !script.floats;
    return { object: "embedding", index, embedding: packed ? base64(vector) : vector };
  });
  const prompt_tokens = inputs.reduce((sum, { length }) => sum + length, 0);
  return { object: "list", model, data, usage: { prompt_tokens, total_tokens: prompt_tokens } };
}

function vectorOf(input, dimensions) {
  const numbers = typeof input === "string" ? [...Buffer.from(input)] : input;
  return Array.from({ length: dimensions }, (_, n) => {
    const mixed = numbers.reduce((sum, number) => (sum * 31 + number + n) % 257, n);
    return (mixed - 128) / 64;
  });
}

const base64 = (vector) => Buffer.from(new Float32Array(vector).buffer).toString("base64");
