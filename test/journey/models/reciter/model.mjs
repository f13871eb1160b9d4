// A model that outputs the JSON list in the last message of the user: text, or objects of the convention.
// `null` in the list waits for a cancel, `false` fails; anything else is output unchanged.

import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async *predict({ messages }, { signal, metric }) {
    const { content } = messages.findLast(({ role }) => role === "user");
    const text = typeof content === "string" ? content : content.map((part) => part.text).join("");
    const outputs = JSON.parse(text);
    metric("input_tokens", messages.length);
    metric("output_tokens", outputs.length);
    for (const output of outputs) {
      if (output === null) await sleep(2 ** 30, undefined, { signal });
      if (output === false) throw new Error("the reciter has forgotten its lines");
      yield output;
    }
  },
});
