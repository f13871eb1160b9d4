/** The source files of this repository, with their lines and what they import. */
import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "../bundle.ts";

export interface Source {
  /** Path from the root of the repository. */
  path: string;
  lines: string[];
  /** Paths of other sources. */
  imports: string[];
}

const SOURCE = /\.(ts|tsx|css|mjs)$/;
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g;

/** @param folders from the root of the repository */
export function readSources(...folders: string[]): Source[] {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...folders],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  // A file that was removed and not committed yet is still listed. A link has no lines of its own.
  const isFile = (path: string) =>
    lstatSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile() === true;
  const paths = listed.split("\n").filter((path) => SOURCE.test(path) && isFile(path));
  return paths.map((path) => {
    const text = readFileSync(join(ROOT, path), "utf8");
    const imports = [...text.matchAll(IMPORT)].map(([, to = ""]) =>
      normalize(join(dirname(path), to)),
    );
    return { path, lines: text.replace(/\n$/, "").split("\n"), imports: [...new Set(imports)] };
  });
}
