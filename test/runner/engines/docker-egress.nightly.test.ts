// Egress where there is no firewall, and a list of hosts where the operator forbids them.
import { describe, expect, it } from "vitest";
import { dockerIsUp } from "../support/containers.ts";
import { look, port, useTravellers, withEngine } from "../support/egress-bed.ts";

describe.runIf(dockerIsUp)("egress", () => {
  useTravellers();

  describe("where the operator forbids it", () => {
    withEngine({ sandbox: { egress: false } });

    it("egress with a list reaches none of its hosts where the operator forbids it", async () => {
      const listed = `hf.example:${port}`;
      const travelled = { [listed]: 403 };
      expect(await look([listed], { authorities: [listed] })).toMatchObject({ travelled });
    });
  });

  describe("without a firewall", () => {
    withEngine({ firewall: "off" });

    it("egress public has no proxy where there is no firewall", async () => {
      expect(await look("public", { targets: [] })).toMatchObject({ proxy: false });
    });
  });
});
