/**
 * Which runner fits a deployment. The version of a packed one ends with the hash of its content
 * (`0.1.0+1a2b3c4d`); one that runs from its sources has none, and is taken for the same.
 */

/** @param latest of the package that the deployment serves */
export const isOutdated = (version: string, latest: string): boolean =>
  version !== latest && version !== releaseOf(latest);

const releaseOf = (version: string) => version.split("+", 1)[0];

/**
 * Where a deployment serves its runner. With the version in it, since npx keeps for ever what it
 * has fetched from an address: from the plain one it would start the old runner again.
 */
export const packageUrl = (origin: string, latest: string): string =>
  `${origin}/auspex-runner.tgz?v=${latest}`;

/** For a shell: of some, an unquoted `?` is a pattern. */
export const runCommand = (origin: string, latest: string): string =>
  `npx --yes "${packageUrl(origin, latest)}"`;

/** The package that a deployment serves. */
export interface RunnerPackage {
  version: string;
  /** Of its bytes, hex. */
  sha256: string;
}

/** The name that a version's package is kept by: npx starts again what it once had by a name. */
export const packageName = ({ version }: RunnerPackage): string => `auspex-runner-${version}.tgz`;

/** For a shell: fetches the package, and fails when it is not the one that was built. */
export const fetchCommand = (origin: string, runner: RunnerPackage): string =>
  `curl -fsSL "${packageUrl(origin, runner.version)}" -o ${packageName(runner)} &&
  echo "${runner.sha256}  ${packageName(runner)}" | sha256sum --check`;
