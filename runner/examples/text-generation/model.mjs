// Continues a story in the style of text.txt: the first two chapters and the tea party of
// "Alice's Adventures in Wonderland" by Lewis Carroll (1865, in the public domain).

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";
import { Language, tokenize } from "./language.mjs";
import { generator } from "./sampling.mjs";
import { before } from "./stop.mjs";

const language = new Language();

serve(manifest, {
  async setup({ log }) {
    const text = await readFile(new URL("text.txt", import.meta.url), "utf8");
    const started = performance.now();
    const tokens = tokenize(text.trim());
    log(`text.txt: ${tokens.length} tokens`);
    for (let done = 0; done < tokens.length; ) {
      const next = Math.min(done + Math.ceil(tokens.length / 4), tokens.length);
      language.learn(tokens, done, next);
      done = next;
      log(`learned ${Math.round((100 * done) / tokens.length)} %: ${language.size} contexts`);
    }
    log(`trained in ${Math.round(performance.now() - started)} ms`);
  },

  async *predict(input, { signal, log, metric }) {
    const { prompt, max_tokens, temperature, stop, delay_ms } = input;
    const seed = input.seed ?? Math.floor(Math.random() * 2 ** 32);
    const context = tokenize(prompt);
    log(`seed ${seed}`);
    metric("input_tokens", context.length);
    const random = generator(seed);
    const written = language.write(context, { temperature, random, max: max_tokens });
    let count = 0;
    metric("output_tokens", count);
    for (const { text } of before(stop === undefined ? [] : [stop], written)) {
      if (count > 0 && delay_ms > 0) await sleep(delay_ms, undefined, { signal });
      metric("output_tokens", ++count);
      yield text;
    }
  },
});
