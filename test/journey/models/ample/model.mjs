// Puts out `size` letters: an output that is large, of an input that is not.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, { predict: ({ size }) => "x".repeat(size) });
