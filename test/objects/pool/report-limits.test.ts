import { describe, expect, test } from "vitest";
import { isSmall, keptImages, mayJoin } from "../../../src/objects/pool/pool-runner.ts";
import { readyContainer, runnerSnapshot } from "../../protocol/runner-snapshot.ts";

const containers = (count: number, image: string) =>
  runnerSnapshot({
    containers: Array.from({ length: count }, (_, n) => readyContainer({ name: `c${n}`, image })),
  });

describe("the limits of runner reports", () => {
  test("a report with 256 containers is kept, and one with 512 long image names is not", () => {
    expect(isSmall(containers(256, "i".repeat(150)))).toBe(true);
    expect(isSmall(containers(512, "i".repeat(400)))).toBe(false);
  });

  test("image names beyond 30,000 characters are left out", () => {
    const images = Array.from({ length: 500 }, (_, n) => String(n).padStart(400, "i"));
    expect([...keptImages(images)]).toEqual(images.slice(0, 75));
  });

  test("a token gets at most half of the places that other tokens leave", () => {
    expect([mayJoin(499, 0), mayJoin(500, 0)]).toEqual([true, false]);
    expect([mayJoin(249, 500), mayJoin(250, 500)]).toEqual([true, false]);
    expect([mayJoin(0, 999), mayJoin(0, 1_000)]).toEqual([true, false]);
  });
});
