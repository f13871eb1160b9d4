// Egress where the operator forbids it, and where there is no firewall.
import { describe, expect, it } from "vitest";
import { dockerIsUp } from "../support/containers.ts";
import { look, port, run, useTravellers, withEngine } from "../support/egress-bed.ts";

describe.runIf(dockerIsUp)("egress", () => {
  useTravellers();

  describe("where the operator forbids it", () => {
    withEngine({ sandbox: { egress: false } });

    it("egress is none for all containers where the operator says so", async () => {
      const listed = `hf.example:${port}`;
      const travelled = { [listed]: 403 };
      expect(await look([listed], { authorities: [listed] })).toMatchObject({ travelled });
    });
  });

  describe("without a firewall", () => {
    withEngine({ firewall: "off" });

    it("egress none is refused where there is no firewall to enforce it", async () => {
      const { error } = await run("none").finish;
      expect(error?.source).toBe("internal");
      expect(error?.message).toContain("without --firewall off");
      expect(await look("public", { targets: [] })).toMatchObject({ proxy: false });
    });
  });
});
