// Greets a name.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  predict: ({ name }) => `Hello, ${name}!`,
});
