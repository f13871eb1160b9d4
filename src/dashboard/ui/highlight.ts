/** Colours of code samples, the same on the server and in a page whose code follows its form. */

export type CodeLanguage = "python" | "js" | "curl" | "http" | "json";

/** A piece of code. Its kind is the class of its colour; pieces without a kind have none. */
export interface CodePiece {
  kind?: "string" | "comment" | "word" | "number";
  text: string;
}

const STRING = String.raw`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\`(?:\\.|[^\`\\])*\``;
const NUMBER = String.raw`\b\d+(?:\.\d+)?\b`;
const words = (text: string) => String.raw`(?<![\w./-])(?:${text.replaceAll(" ", "|")})(?![\w-])`;

/** A comment begins a line or follows a space: `#` and `//` are parts of addresses, too. */
const patternOf = (comment: string, keywords: string) =>
  new RegExp(
    `(?<string>${STRING})|(?<comment>(?<=^|\\s)${comment}.*)|(?<word>${words(keywords)})|(?<number>${NUMBER})`,
    "gm",
  );

const PATTERNS: Record<CodeLanguage, RegExp> = {
  python: patternOf(
    "#",
    "import from as for in if else with def return try except print None True False",
  ),
  js: patternOf("//", "import from const let for of if await new return true false null"),
  curl: patternOf("#", "curl export auspex npm npx pip docker"),
  http: patternOf("#", "POST GET PUT PATCH DELETE HTTP/1.1"),
  json: patternOf("//", "true false null"),
};

const KINDS = ["string", "comment", "word", "number"] as const;

export function codePieces(code: string, language: CodeLanguage): CodePiece[] {
  const pieces: CodePiece[] = [];
  let at = 0;
  for (const { 0: text, index, groups = {} } of code.matchAll(PATTERNS[language])) {
    const kind = KINDS.find((one) => groups[one] !== undefined);
    if (index > at) pieces.push({ text: code.slice(at, index) });
    pieces.push(kind ? { kind, text } : { text });
    at = index + text.length;
  }
  return at < code.length ? [...pieces, { text: code.slice(at) }] : pieces;
}
