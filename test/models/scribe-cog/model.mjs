// The model of `chat` behind the Cog interface: chat messages in, text out. Auspex turns that into
// chat completions and responses.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";
import { countTokens, Writer } from "./writer.mjs";

const MAX_TOKENS = 1000;
const writer = new Writer();

serve(manifest, {
  async setup({ log }) {
    const started = performance.now();
    const text = await readFile(new URL("text.txt", import.meta.url), "utf8");
    const { tokens, contexts } = await writer.train(text);
    const took = Math.round(performance.now() - started);
    log(`trained on ${tokens} tokens, ${contexts} contexts, in ${took} ms`);
  },

  async *predict(input, { signal, log, metric }) {
    const messages = input.messages.map(({ role, content }) => ({ role, text: textOf(content) }));
    const options = {
      // Clients send null for fields they leave to the model.
      max: input.max_completion_tokens ?? input.max_tokens ?? MAX_TOKENS,
      temperature: input.temperature ?? 0.5,
      top_p: input.top_p ?? 1,
      seed: input.seed ?? Math.floor(Math.random() * 2 ** 32),
      stop: [input.stop ?? []].flat().filter((text) => text !== ""),
    };
    log(`seed ${options.seed}`);
    let count = 0;
    metric("input_tokens", countTokens(messages));
    metric("output_tokens", count);
    for (const { text } of writer.write(messages, options)) {
      if (count > 0 && input.delay_ms > 0) await sleep(input.delay_ms, undefined, { signal });
      metric("output_tokens", ++count);
      yield text;
    }
  },
});

/** The content of a message: a text, or the text parts of it. */
function textOf(content) {
  if (!Array.isArray(content)) return content ?? "";
  return content.map(({ text }) => text ?? "").join("\n");
}
