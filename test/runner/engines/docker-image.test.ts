/** Facts that the runner reads from an image: its identity, and its labels. */
import { describe, expect, it } from "vitest";
import { hasReference, imageFacts } from "../../../runner/src/engines/docker/image.ts";

describe("an image", () => {
  it("an image is identified by repository and digest together", () => {
    const names = ["registry.test/ada/m@sha256:1", "hello@sha256:2"];
    expect(hasReference(names, "registry.test/ada/m@sha256:1")).toBe(true);
    expect(hasReference(names, "registry.test/eve/m@sha256:1")).toBe(false);
    expect(hasReference(names, "docker.io/library/hello@sha256:2")).toBe(true);
    expect(hasReference(names, "registry.test/library/hello@sha256:2")).toBe(false);
  });

  it("the labels of an image say whether Cog built it and whether it needs a GPU", () => {
    const config = JSON.stringify({ build: { gpu: true } });
    const labels = { "run.cog.version": "0.17.0", "run.cog.config": config };
    const none = "none";
    expect(imageFacts(labels)).toMatchObject({ cog: true, gpu: "needed" });
    expect(imageFacts({ "org.cogmodel.version": "0.1" })).toMatchObject({ cog: true, gpu: none });
    expect(imageFacts({})).toMatchObject({ cog: false, gpu: none });
    const cuda = ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all"];
    expect(imageFacts({}, cuda)).toMatchObject({ cog: false, gpu: "welcome" });
    for (const value of ["", "none", "void"]) {
      expect(imageFacts({}, [`NVIDIA_VISIBLE_DEVICES=${value}`]).gpu).toBe(none);
    }
    // Cog's label is the same for every base image.
    expect(imageFacts({ "run.cog.version": "0.17.0" }, cuda)).toMatchObject({
      cog: true,
      gpu: none,
    });
    const managed = { "run.cog.weight.a": "x", "run.cog.version": "0.22.0" };
    expect(() => imageFacts(managed)).toThrow("managed weights");
    expect(imageFacts(managed, [], true)).toMatchObject({ cog: true });
    expect(() => imageFacts({ ...labels, "run.cog.config": "{" })).toThrow("run.cog.config");
  });

  it("the labels of an image say whether its uploads would lose the order of its files", () => {
    const file = { type: "string", format: "uri" };
    const list = { type: "array", items: file };
    const uploads = (version: string, Output: object, prefix = "run.cog.") => {
      const schema = JSON.stringify({ components: { schemas: { Output, File: file } } });
      const labels = { [`${prefix}version`]: version, [`${prefix}openapi_schema`]: schema };
      return imageFacts(labels).uploads;
    };
    for (const version of ["0.17.0", "v0.22.0", "0.17.0-rc.1", "1.0.0"]) {
      expect(uploads(version, list)).toBe(false);
      expect(uploads(version, { ...list, items: { $ref: "#/components/schemas/File" } })).toBe(
        false,
      );
      expect(uploads(version, file)).toBe(true);
      expect(uploads(version, { type: "array", items: { type: "string" } })).toBe(true);
      expect(uploads(version, { ...list, "x-cog-array-type": "iterator" })).toBe(true);
    }
    for (const version of ["0.9.9", "0.16.12", "dev", ""]) {
      expect(uploads(version, list)).toBe(true);
    }
    expect(uploads("0.0.1", list, "org.cogmodel.")).toBe(true);
    expect(imageFacts({ "run.cog.version": "0.22.0" }).uploads).toBe(true);
    expect(imageFacts({ "run.cog.version": "0.22.0", "run.cog.openapi_schema": "{" }).uploads).toBe(
      true,
    );
  });
});
