import { serve } from "../../../../runner/examples/hello/cog.mjs";
import manifest from "./auspex.json" with { type: "json" };

serve(manifest, { predict: () => "ok" });
