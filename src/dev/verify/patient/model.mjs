// Answers a chat after as many seconds as it is asked to, in silence until then.

import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./vendora.mjs";

serve(manifest, {
  load() {},
  calls: {
    async "/v1/chat/completions"({ model, seconds, stream }, signal) {
      const head = { id: "chatcmpl-patient", created: Math.floor(Date.now() / 1_000), model };
      const content = `This took ${seconds} s.`;
      const wait = () => sleep(seconds * 1_000, undefined, { signal });
      if (stream) return chunks(head, content, wait);
      await wait();
      const message = { role: "assistant", content, refusal: null };
      const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
      return { ...head, object: "chat.completion", choices };
    },
  },
});

async function* chunks(head, content, wait) {
  await wait();
  const delta = { role: "assistant", content };
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: "stop" }];
  yield { ...head, object: "chat.completion.chunk", choices };
}
