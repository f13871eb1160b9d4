/** `npm run house`: how large the code is, by room, and what stands out. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileTime } from "../../../test/projects/times.ts";
import { ROOT } from "../bundle.ts";
import { pairs } from "./pairs.ts";
import { oddPlaces, readSources, type Source } from "./words.ts";

const LARGEST = 10;
const SMALL_LINES = 30;
const LARGE_LINES = 400;

const sources = readSources("src", "runner");
const tests = readSources("test");

const linesOf = (files: Source[]) => files.reduce((sum, { lines }) => sum + lines.length, 0);
const row = (...cells: (string | number)[]) =>
  console.log(
    cells.map((cell) => (typeof cell === "number" ? String(cell).padStart(8) : cell)).join("  "),
  );

function title(text: string): void {
  console.log(`\n${text}`);
}

title("Lines and files by room");
const roomOf = (path: string) =>
  /^(runner\/src\/|src\/|test\/|runner\/)[^/]+/.exec(path)?.[0] ?? path;
const rooms = Map.groupBy([...sources, ...tests], ({ path }) => roomOf(path));
for (const [room, files] of [...rooms].toSorted(
  ([, one], [, other]) => linesOf(other) - linesOf(one),
))
  if (files.length > 1) row(linesOf(files), files.length, room);
row(linesOf(sources), sources.length, "src and runner");
row(linesOf(tests), tests.length, "test");

const code = sources.filter(({ path }) => /^(src|runner\/src)\/.*\.tsx?$/.test(path));
title("TypeScript of src and runner/src");
const importers = new Map<string, number>();
for (const { imports } of code)
  for (const path of imports) importers.set(path, (importers.get(path) ?? 0) + 1);
const sizes = code.map(({ lines }) => lines.length).toSorted((one, other) => one - other);
row(code.length, "files");
row(sizes[Math.floor(sizes.length / 2)] ?? 0, "lines, median");
row(
  sizes.filter((lines) => lines < SMALL_LINES).length,
  `files of fewer than ${SMALL_LINES} lines`,
);
row(code.filter(({ path }) => importers.get(path) === 1).length, "files that one other imports");
row(sizes.filter((lines) => lines > LARGE_LINES).length, `files of more than ${LARGE_LINES} lines`);

title("The largest files");
const bySize = code.toSorted((one, other) => other.lines.length - one.lines.length);
for (const { path, lines } of bySize.slice(0, LARGEST)) row(lines.length, path);

title("Pairs of folders that import each other");
for (const [one, other] of pairs(code)) row(`${one}  ${other}`);

title("Words");
const odd = oddPlaces();
for (const kind of ["comments", "titles"] as const)
  row(odd.filter((place) => place.kind === kind).length, `${kind} to rewrite (npm run words)`);

const kept = join(ROOT, ".auspex/test-times.json");
if (existsSync(kept)) {
  title("Test files with most processor time in the last run, and their seconds");
  const times: FileTime[] = JSON.parse(readFileSync(kept, "utf8"));
  for (const { file, cpu } of times.toSorted((one, other) => other.cpu - one.cpu).slice(0, LARGEST))
    row(Math.round(cpu), file);
}
