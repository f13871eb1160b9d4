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
      expect(await look("public", { targets: [] })).toMatchObject({ proxy: false });
      expect(await box.networks()).toHaveLength(1);
      await look("none", { targets: [] });
      const format = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}";
      const networks = await docker("inspect", "--format", format, ...(await box.containers()));
      expect(networks.split("\n").sort()).toEqual((await box.networks()).sort());
    });

    it("egress none reaches nothing, and a list only its hosts, through the runner; neither resolves names", async () => {
      const [listed, other] = [`hf.example:${port}`, `evil.example:${port}`];
      const named = ["hf.example"];
      // The two resolve at the same time, because a resolver that is never reached takes 10 s.
      const [none, list] = await Promise.all([
        look("none", { names: named }),
        look([listed], { authorities: [listed, other], names: named }),
      ]);
      const closed = { reached: REFUSED, named: { "hf.example": "unknown" } };
      expect(none).toMatchObject({ ...closed, proxy: false });
      const travelled = { [listed]: "welcome", [other]: 403 };
      expect(list).toEqual({ ...closed, travelled, proxy: true });
    });
  });

  describe("where the operator forbids it", () => {
    withEngine({ sandbox: { egress: false } });

    it("egress public reaches nothing where the operator forbids it", async () => {
      expect(await look("public")).toMatchObject({ reached: REFUSED });
    });
  });

  describe("without a firewall", () => {
    withEngine({ firewall: "off" });

    it("egress none is refused where there is no firewall to enforce it", async () => {
      const { error } = await run("none").finish;
      expect(error?.source).toBe("internal");
      expect(error?.message).toContain("without --firewall off");
    });
  });
});
