// A model that fails with a device that it may not open, like a container whose GPUs were taken away.

import { execFileSync } from "node:child_process";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async predict({ device }) {
    execFileSync("/bin/busybox", ["mknod", device, "c", "195", "255"]);
    throw new Error("CUDA error: unknown error");
  },
});
