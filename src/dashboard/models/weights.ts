/** The weights of a version, as lines of a form: the path in the container, then the upload. */
import type { ValidationIssue } from "../../protocol/common.ts";
import type { Configuration } from "../../protocol/model.ts";

export const weightLines = ({ weights = [] }: Configuration): string =>
  weights.map(({ target, file }) => `${target} ${file}`).join("\n");

/** Reads a line; undefined for an empty one. A path may have spaces, and the name of an upload has none. */
export function readWeights(text: string): { target: string; file: string }[] | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) return undefined;
  return lines.map((line) => {
    const [, target = line.trim(), file = ""] = /^\s*(.*\S)\s+(\S+)\s*$/.exec(line) ?? [];
    return { target, file };
  });
}

/** Says in which line something is wrong, and in which half of it. @param place below `weights` */
export function weightIssueText({ msg }: ValidationIssue, place: readonly string[]): string {
  const [line, part] = place;
  if (line === undefined) return msg;
  const half = part === "file" ? "upload" : "path";
  return `Line ${Number(line) + 1}, ${half}: ${msg}`;
}
