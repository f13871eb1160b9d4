// Answers a chat after as many seconds as it is asked to, in silence until then.

import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./vendora.mjs";

serve(manifest, {
  load() {},
  calls: {
    async "/v1/chat/completions"({ model, seconds }, signal) {
      await sleep(seconds * 1_000, undefined, { signal });
      const message = { role: "assistant", content: `This took ${seconds} s.`, refusal: null };
      return {
        id: "chatcmpl-patient",
        object: "chat.completion",
        created: Math.floor(Date.now() / 1_000),
        model,
        choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
      };
    },
  },
});
