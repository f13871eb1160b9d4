/** Weights in real containers: complete before the container starts, and read-only. */
import { describe, it } from "vitest";
import { dockerIsUp } from "../support/containers.ts";
import { expectReadOnly, useImages, withSandbox } from "../support/docker-weights-bed.ts";

useImages(async (into) => void (await into.push("weights", "weights.mjs")));

describe.runIf(dockerIsUp)("containers", () => {
  withSandbox({});

  it("containers find their weights, read-only", () => expectReadOnly("weights"));
});
