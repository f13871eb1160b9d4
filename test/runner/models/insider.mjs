// A model that returns its variables and its user, and writes as much as the input says.

import { appendFileSync } from "node:fs";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

const MIB = 1024 ** 2;

serve(manifest, {
  async predict({ names = [], file, mebibytes = 0 }, { signal }) {
    for (let n = 0; n < mebibytes; n++) appendFileSync(file, Buffer.alloc(MIB, n));
    // The wait lets a watcher notice the written bytes.
    if (mebibytes > 0) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    const variables = Object.fromEntries(names.map((name) => [name, process.env[name] ?? null]));
    return { variables, uid: process.getuid(), argv: process.argv.slice(2), pid: process.pid };
  },
});
