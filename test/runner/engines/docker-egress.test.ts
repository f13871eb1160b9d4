// Egress that a version declares or the operator forbids, enforced by the firewall against the container.
import { describe, expect, it } from "vitest";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import { box, look, port, REFUSED, run, useTravellers, withEngine } from "../support/egress-bed.ts";

describe.runIf(dockerIsUp)("egress", () => {
  useTravellers();

  describe("by what a version declares", () => {
    withEngine();

    it("egress differs by container: each has a network of its own, which is made for the first", async () => {
      await look("public", { targets: [] });
      expect(await box.networks()).toHaveLength(1);
      await look("none", { targets: [] });
      const format = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}";
      const networks = await docker("inspect", "--format", format, ...(await box.containers()));
      expect(networks.split("\n").sort()).toEqual((await box.networks()).sort());
    });

    it("egress none reaches nothing and resolves no names, and the run's reports still come", async () => {
      expect(await look("none", { names: ["example.com"] })).toMatchObject({
        reached: REFUSED,
        named: { "example.com": "unknown" },
        proxy: false,
      });
    });

    it("egress with a list reaches only its hosts, through the runner", async () => {
      const [listed, other] = [`hf.example:${port}`, `evil.example:${port}`];
      const input = { authorities: [listed, other], names: ["hf.example"] };
      expect(await look([listed], input)).toEqual({
        reached: REFUSED,
        named: { "hf.example": "unknown" },
        travelled: { [listed]: "welcome", [other]: 403 },
        proxy: true,
      });
    });
  });

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
