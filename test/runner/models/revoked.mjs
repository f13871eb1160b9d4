// Has a device that it may not open, as a container whose GPUs were taken from it; and fails.

import { execFileSync } from "node:child_process";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

serve(manifest, {
  async predict({ device }) {
    execFileSync("/bin/busybox", ["mknod", device, "c", "195", "255"]);
    throw new Error("CUDA error: unknown error");
  },
});
