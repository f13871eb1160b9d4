// A model whose setup fails, and says why.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  setup({ log }) {
    log("looking for weights.bin");
    throw new Error("weights.bin is missing");
  },
  predict: () => "never",
});
