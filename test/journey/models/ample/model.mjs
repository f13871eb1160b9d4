// A model that outputs `size` letters: a large output of a small input.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, { predict: ({ size }) => "x".repeat(size) });
