// Answers chat messages in the words of text.txt: the first two chapters and the tea party of
// "Alice's Adventures in Wonderland" by Lewis Carroll (1865, in the public domain).

import { readFile } from "node:fs/promises";
import manifest from "./auspex.json" with { type: "json" };
import { chatCompletions } from "./chat.mjs";
import { serve } from "./openai.mjs";
import { Writer } from "./writer.mjs";

const writer = new Writer();

serve(manifest, {
  async load() {
    const started = performance.now();
    const text = await readFile(new URL("text.txt", import.meta.url), "utf8");
    const { tokens, contexts } = await writer.train(text);
    const took = Math.round(performance.now() - started);
    console.log(`trained on ${tokens} tokens, ${contexts} contexts, in ${took} ms`);
  },
  calls: { "/v1/chat/completions": chatCompletions(writer) },
});
