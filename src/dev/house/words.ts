/**
 * `npm run words`, a part of `npm run lint`: finds comments whose first sentence does not name its subject,
 * and test titles that cannot stand alone in a log. Fails when there are any.
 */
import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "../bundle.ts";

/** Patterns of first sentences of comments that have to be rewritten, with the reason. */
const COMMENTS: [reason: string, pattern: RegExp][] = [
  [
    "begins with a clause instead of its subject",
    /^(What|Who|Whoever|Whatever|Whose|Whom|Which|Where|How (?:long|often|many|much|far) (?:it|they|that|one))\b(?!.*\?)/,
  ],
  [
    "begins with a pronoun",
    /^(It|Its|They|Them|Their|Those|These|That|One that|One who|Ones|Such|The same|Both|None|Nobody|Anybody|Somebody|Everybody|He|She)\b/,
  ],
  ["begins with an adverbial", /^(Of|By|With|To|From|As|In|For|At|On)\b[^,.;:]{2,60},\s/],
  ["has no main clause", /^(Of|By|As of|As for)\b[^,]*$/],
  [
    "has an idiom",
    /\b(for ever|of late|whosoever|anew|thereof|hereof|whereof|is told to|are told|was told|is said of|tells of|come to nothing|no more than that|so that nobody|beside the|and be it)\b/i,
  ],
];

const TITLES: typeof COMMENTS = [
  [
    "has no subject",
    /^(are|is|was|were|has|have|does|do|of|who|what|whose|whoever|by|that|which|as|to be|not|may|can|until|unless|if)\b/i,
  ],
];

const TITLE = /\b(?:test|it)(?:\.each\([^)]*\))?\(\s*["'`]([^"'`]+)["'`]/;

export interface Place {
  path: string;
  line: number;
  kind: "comments" | "titles";
  reason: string;
  text: string;
}

/** The comments and titles to rewrite. */
export function oddPlaces(): Place[] {
  return readSources("src", "runner", "test").flatMap(({ path, lines }) => {
    const comments = commentsIn(lines).map((one) => ({ ...one, kind: "comments" as const }));
    const titles = path.startsWith("test/") ? titlesIn(lines) : [];
    return [...comments, ...titles].flatMap(({ line, text, kind }) => {
      const rules = kind === "titles" ? TITLES : COMMENTS;
      const [reason] = rules.find(([, pattern]) => pattern.test(text)) ?? [];
      return reason === undefined ? [] : [{ path, line, kind, reason, text }];
    });
  });
}

/** The first sentence of each comment. */
function commentsIn(lines: string[]) {
  const comments: { line: number; text: string }[] = [];
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at]?.trim() ?? "";
    const end = text.startsWith("/*")
      ? lines.findIndex((one, n) => n >= at && one.includes("*/"))
      : -1;
    if (end !== -1) {
      const block = lines
        .slice(at, end + 1)
        .map((one) => one.replace(/^\s*(\/\*+|\*(?!\/))?|\*\/.*$/g, "").trim());
      comments.push({ line: at + 1, text: firstSentence(block.join(" ")) });
      at = end;
    } else if (text.startsWith("//") && !lines[at - 1]?.trim().startsWith("//"))
      comments.push({ line: at + 1, text: firstSentence(text.slice(2)) });
  }
  return comments.filter(({ text }) => text !== "" && !text.startsWith("@"));
}

const firstSentence = (text: string) => text.trim().split(/(?<=[.:]) /, 1)[0] ?? "";

const titlesIn = (lines: string[]) =>
  lines.flatMap((text, at) => {
    const [, title] = TITLE.exec(text) ?? [];
    return title === undefined ? [] : [{ line: at + 1, text: title, kind: "titles" as const }];
  });

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

if (import.meta.main) {
  const places = oddPlaces();
  for (const { path, line, kind, reason, text } of places)
    console.log(`${path}:${line}: ${kind === "titles" ? "title" : "comment"} ${reason}: ${text}`);
  console.log(`${places.length} comments and titles to rewrite`);
  if (places.length > 0) process.exitCode = 1;
}
