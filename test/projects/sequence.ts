/** The order of all files: the longest of a project come first, so that no processor waits at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The order of projects in a group; others have a group of their own. */
const PROJECTS = ["journey", "runner", "worker", "browser"];

/** Files that take more than 12 s each, the longest first; vitest knows only the size of a file that has not run before. */
const LONG = [
  "journey/runs",
  "journey/docker",
  "journey/restart",
  "journey/lost",
  "browser/pages",
  "browser/chat",
  "browser/prediction",
  "browser/sign-in",
  "browser/docs",
  "runner/engines/docker-egress",
  "runner/engines/docker-firewall",
  "runner/engines/docker-engine",
  "runner/engines/docker-sandbox",
  "runner/weights/docker-weights",
  "cli/publish/publish",
  "worker/dashboard/access",
  "worker/transient-errors/account-alarms",
];

/** Returns the place among the longest files, after which all others come. */
function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? LONG.length : place;
}

export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))].toSorted(
      (one, other) => PROJECTS.indexOf(one.name) - PROJECTS.indexOf(other.name),
    );
    // A project's files stay together, because its workers are started for each project.
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      return own.toSorted((one, other) => placeOf(one) - placeOf(other));
    });
  }
}
