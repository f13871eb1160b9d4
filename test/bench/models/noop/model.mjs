import { serve } from "../../../../runner/examples/shared/cog.mjs";
import manifest from "./auspex.json" with { type: "json" };

serve(manifest, { predict: () => "ok" });
