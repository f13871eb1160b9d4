// A model that outputs its process ID and, for each name, the SHA-256 of that environment variable, or null.

import { createHash } from "node:crypto";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

const hashOf = (value) => createHash("sha256").update(value).digest("hex");

serve(manifest, {
  predict({ names }, { log }) {
    log(`asked for ${names.length}`);
    const found = names.map((name) => {
      const value = process.env[name];
      return [name, value === undefined ? null : hashOf(value)];
    });
    return { pid: process.pid, values: Object.fromEntries(found) };
  },
});
