// Embeds texts by meaning and spelling. Meanings are learned at startup from text.txt, plain sentences
// about everyday things that were written for it (public domain, CC0).

import { readFile } from "node:fs/promises";
import manifest from "./auspex.json" with { type: "json" };
import { Embedder } from "./embedder.mjs";
import { embeddings } from "./embeddings.mjs";
import { serve } from "./openai.mjs";

const embedder = new Embedder();

serve(manifest, {
  async load() {
    const started = performance.now();
    const words = embedder.learn(await readFile(new URL("text.txt", import.meta.url), "utf8"));
    console.log(`learnt ${words} words in ${Math.round(performance.now() - started)} ms`);
  },
  calls: { "/v1/embeddings": embeddings(embedder) },
});
