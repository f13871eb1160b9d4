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
  // This deployment was set back to an older version.
  ["0.3.0+1a2b3c4d", true],
  // Version of runners that were started from their sources.
  ["0.2.0", false],
  ["0.1.0", true],
  ["", true],
])("a runner of version %s is outdated: %s", (version, outdated) => {
  expect(isOutdated(version, LATEST)).toBe(outdated);
});

test("each runner version has its own address, which a shell takes unquoted", () => {
  const address = "https://auspex.test/auspex-runner.tgz?v=0.2.0+1a2b3c4d";
  expect(packageUrl("https://auspex.test", LATEST)).toBe(address);
  expect(runCommand("https://auspex.test", LATEST)).toBe(`npx --yes "${address}"`);
});

test("the fetch command compares the checksum of the package with that of the built one", () => {
  const runner = { version: LATEST, sha256: "ab".repeat(32) };
  expect(fetchCommand("https://auspex.test", runner)).toBe(
    `curl -fsSL "https://auspex.test/auspex-runner.tgz?v=${LATEST}" -o auspex-runner-${LATEST}.tgz &&
  echo "${"ab".repeat(32)}  auspex-runner-${LATEST}.tgz" | sha256sum --check`,
  );
});
