/**
 * Runner versions and the commands that install them. The version of a packed runner ends with the
 * hash of its content (`0.1.0+1a2b3c4d`); one that runs from source has none and counts as current.
 */

export const isOutdated = (version: string, latest: string): boolean =>
  version !== latest && version !== releaseOf(latest);

const releaseOf = (version: string) => version.split("+", 1)[0];

/** Returns the URL of the runner. It has the version, because npx caches by URL. */
export const packageUrl = (origin: string, latest: string): string =>
  `${origin}/auspex-runner.tgz?v=${latest}`;

/** Returns a shell command; the URL is quoted, since `?` is a glob in some shells. */
export const runCommand = (origin: string, latest: string): string =>
  `npx --yes "${packageUrl(origin, latest)}"`;

export interface RunnerPackage {
  version: string;
  sha256: string;
}

/** Returns the local file name of a version's package: npx caches by name. */
export const packageName = ({ version }: RunnerPackage): string => `auspex-runner-${version}.tgz`;

/** Returns a shell command that downloads the package and verifies its hash. */
export const fetchCommand = (origin: string, runner: RunnerPackage): string =>
  `curl -fsSL "${packageUrl(origin, runner.version)}" -o ${packageName(runner)} &&
  echo "${runner.sha256}  ${packageName(runner)}" | sha256sum --check`;
