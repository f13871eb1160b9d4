/** Journeys in the minutes after a deploy: the last release beside what is to be the next. */
import type { TestProjectInlineConfiguration } from "vitest/config";
import { CLASSES, NONE_OLD, SKEWS, type Skew } from "../skew/skew.ts";
import { REAL_PROCESSES, root } from "./shared.ts";

/** Between them they make each kind of call and send each kind of message. */
const JOURNEYS = ["cancel", "vendora-responses"];
/** Where every object is old, or none. */
const PLAIN_JOURNEYS = ["files", "short-run", "success", "webhook"];
/** Half a minute: where a pool and a prediction differ in age. */
const LONG_JOURNEYS = ["lost"];

const journeysOf = ({ classes }: Skew) =>
  [
    ...JOURNEYS,
    ...(classes.length === 1 ? LONG_JOURNEYS : []),
    ...(isPlain(classes) ? PLAIN_JOURNEYS : []),
  ].map((journey) => `test/journey/${journey}.test.ts`);

const isPlain = ({ length }: string[]) => length === 0 || length === CLASSES.length;

const project = (name: string, skew: Skew, include: string[]): TestProjectInlineConfiguration => ({
  root,
  test: {
    name,
    include,
    globalSetup: ["test/processes/packages.ts", "test/skew/global-setup.ts"],
    provide: { skew },
    ...REAL_PROCESSES,
    setupFiles: "test/processes/patience.ts",
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

const mixtures = (isWanted: (skew: Skew) => boolean) => [
  project("a deploy", NONE_OLD, ["test/skew/*.test.ts"]),
  ...Object.entries(SKEWS)
    .filter(([, skew]) => isWanted(skew))
    .map(([name, skew]) => project(name, skew, journeysOf(skew))),
];

/** For `npm test`: those without the long journeys. */
export const shortSkew = mixtures(({ classes }) => classes.length !== 1);

export default mixtures(() => true);
