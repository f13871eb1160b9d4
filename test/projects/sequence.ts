/** The order of all files: the longest come first, so that no processor waits at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take more than 20 s each; vitest knows only the size of a file that has not run before. */
const LONG = [
  "journey/docker",
  "journey/publish-run",
  "journey/lost",
  "journey/update",
  "journey/cli",
  "browser/pages",
  "browser/chat",
  "browser/playground",
  "browser/prediction",
  "browser/models",
  "cli/publish/publish",
  "runner/engines/docker-own-registry",
  "runner/engines/docker-engine",
  "runner/engines/docker-egress",
  "runner/engines/docker-sandbox",
  "worker/transient-errors/account-alarms",
  "worker/api/fuzz",
];

const isLong = ({ moduleId }: TestSpecification) =>
  LONG.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));

export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    // A project's files stay together, because its workers are started for each project.
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}
