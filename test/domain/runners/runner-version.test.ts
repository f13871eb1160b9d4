import { expect, test } from "vitest";
import {
  fetchCommand,
  isOutdated,
  packageUrl,
  runCommand,
} from "../../../src/domain/runners/runner-version.ts";

const LATEST = "0.2.0+1a2b3c4d";

test.each([
  [LATEST, false],
  ["0.2.0+00000000", true],
  ["0.1.0+1a2b3c4d", true],
  // A deployment that was set back.
  ["0.3.0+1a2b3c4d", true],
  // From its sources.
  ["0.2.0", false],
  ["0.1.0", true],
  ["", true],
])("%s", (version, outdated) => {
  expect(isOutdated(version, LATEST)).toBe(outdated);
});

test("each version has an address of its own, which a shell takes as it is", () => {
  const address = "https://auspex.test/auspex-runner.tgz?v=0.2.0+1a2b3c4d";
  expect(packageUrl("https://auspex.test", LATEST)).toBe(address);
  expect(runCommand("https://auspex.test", LATEST)).toBe(`npx --yes "${address}"`);
});

test("what is fetched is held against the package that was built", () => {
  const runner = { version: LATEST, sha256: "ab".repeat(32) };
  expect(fetchCommand("https://auspex.test", runner)).toBe(
    `curl -fsSL "https://auspex.test/auspex-runner.tgz?v=${LATEST}" -o auspex-runner-${LATEST}.tgz &&
  echo "${"ab".repeat(32)}  auspex-runner-${LATEST}.tgz" | sha256sum --check`,
  );
});
