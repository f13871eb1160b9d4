// A model whose setup waits for the file `.setup` in its folder.

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async setup({ log }) {
    log("loading weights");
    while (!existsSync(".setup")) await sleep(20);
    log("weights loaded");
  },
  predict: () => "ready at last",
});
