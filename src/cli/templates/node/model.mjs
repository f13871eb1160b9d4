// A model in plain Node. Its input and output are described in auspex.json; cog.mjs, which serves
// it, needs no editing. To try it here: PORT=5000 node model.mjs

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  // Once, before the first prediction: load weights here.
  async setup({ log }) {
    log("ready");
  },
  // Once per prediction. What it yields is streamed; what a plain function returns is the output.
  async *predict({ name, times }, { signal }) {
    for (let count = 1; count <= times; count++) {
      signal.throwIfAborted();
      yield `Hello, ${name}! `;
    }
  },
});
