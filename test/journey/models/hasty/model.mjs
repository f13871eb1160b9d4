// Never ends, whatever it is told.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  predict: () => new Promise(() => {}),
});
