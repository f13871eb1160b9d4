// A model that yields `before`, waits for the file `.<gate>` in its folder, and yields `after`.

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async *predict({ before, gate, after }, { signal, log }) {
    log(`waits at ${gate}`);
    yield* before;
    log("\u001b[1;33mWARNING\u001b[0m the gate is \u001b[31mclosed\u001b[0m");
    while (!existsSync(`.${gate}`)) await sleep(20, undefined, { signal });
    yield* after;
  },
});
