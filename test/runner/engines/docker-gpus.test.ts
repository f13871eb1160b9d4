/** When a container is given the machine's GPUs. */
import { describe, expect, it } from "vitest";
import { usesGpus } from "../../../runner/src/engines/docker/gpus.ts";

describe("GPUs", () => {
  it("are asked for by choice, or as the image needs them and Docker has them", () => {
    const nvidia = { Runtimes: { runc: {}, nvidia: {} } };
    const cdi = { Runtimes: { runc: {} }, DiscoveredDevices: [{ ID: "nvidia.com/gpu=all" }] };
    const bare = { Runtimes: { runc: {} }, DiscoveredDevices: [{ ID: "vendor.com/net=0" }] };
    for (const docker of [nvidia, cdi]) {
      expect(usesGpus("image", "welcome", docker)).toBe(true);
      expect(usesGpus("image", "none", docker)).toBe(false);
      expect(usesGpus("never", "needed", docker)).toBe(false);
    }
    for (const docker of [bare, {}]) {
      expect(usesGpus("image", "welcome", docker)).toBe(false);
      // Without them it fails, and so it should.
      expect(usesGpus("image", "needed", docker)).toBe(true);
      expect(usesGpus("always", "none", docker)).toBe(true);
    }
  });
});
