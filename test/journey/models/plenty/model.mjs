// A model that yields a large output in pieces, none of which is too large for the log.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async *predict({ pieces, size, letter }) {
    for (let n = 0; n < pieces; n++) yield letter.repeat(size);
  },
});
