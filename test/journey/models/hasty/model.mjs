// A model that never ends, even when it is canceled.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  predict: () => new Promise(() => {}),
});
