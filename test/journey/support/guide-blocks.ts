/** The examples of a guide, and a shell that runs them one after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The marks that may follow the language of a block. */
const MARKS = { left_out: "no-run", refused: "refused" };

/** The languages of blocks, each with the command that runs a file of it. */
const RUN: Record<string, string> = {
  sh: "source",
  js: "node --import ./strict-fetch.mjs",
  python: "python3",
};
const SHOWN = ["dockerfile", "json", "text", "sql", "yaml"];

interface Block {
  language: string;
  /** The line of the guide where its code begins, from 1. */
  line: number;
  code: string;
  /** True if the example shows a refusal, and so has to fail. */
  refused: boolean;
}

/** The blocks of shell, JavaScript and Python that are not marked `no-run`, in order. */
export function blocksIn(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].flatMap(
    ({ 1: info = "", 2: code = "", index }) => {
      const [language = "", ...marks] = info.split(" ");
      const line = markdown.slice(0, index).split("\n").length + 1;
      if (![...Object.keys(RUN), ...SHOWN].includes(language)) {
        throw new Error(`Line ${line}: blocks are not in ${language || "no language"}.`);
      }
      const unknown = marks.filter((mark) => !Object.values(MARKS).includes(mark));
      if (unknown.length > 0) throw new Error(`Line ${line}: what is ${unknown.join(" ")}?`);
      if (!(language in RUN) || marks.includes(MARKS.left_out)) return [];
      return [{ language, line, code, refused: marks.includes(MARKS.refused) }];
    },
  );
}

/** Settings that make curl fail on a response of 400 or above, which a reader of its output would notice. */
const CURL_SETTINGS = "fail-with-body\nsilent\nshow-error\nmax-time = 60\n";
const STRICT_FETCH = `
const { fetch } = globalThis;
globalThis.fetch = async (...call) => {
  const response = await fetch(...call);
  if (response.status < 400) return response;
  throw new Error(\`\${response.status} of \${response.url}: \${await response.text()}\`);
};
`;

/** Runs the blocks in order. @throws with the guide, the line and the output of the first block that fails */
export async function runBlocks(
  guide: string,
  blocks: Block[],
  folder: string,
  environment: Record<string, string>,
): Promise<void> {
  const files = {
    ".curlrc": CURL_SETTINGS,
    "strict-fetch.mjs": STRICT_FETCH,
    // A package.json makes the folder a project of its own to npm.
    "package.json": "{}",
    "session.sh": session(guide, blocks),
    ...Object.fromEntries(
      // The blank lines make errors name the lines of the guide.
      blocks.map((block) => [fileOf(block), "\n".repeat(block.line - 1) + block.code]),
    ),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const shell = spawn("bash", ["session.sh"], {
    cwd: folder,
    env: { ...environment, HOME: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = await once(shell, "close");
  if (code === 0) return;
  throw new Error(`exit code ${code}\n${output.slice(output.lastIndexOf(HEADER))}`);
}

const HEADER = "=== ";

const EXTENSIONS: Record<string, string> = { js: "mjs", python: "py" };

const fileOf = ({ language, line }: Block) => `line-${line}.${EXTENSIONS[language] ?? language}`;

/** Returns one shell script for all blocks: a variable that one block exports is there for the next. */
function session(guide: string, blocks: Block[]): string {
  const steps = blocks.map((block) => {
    const run = `${RUN[block.language]} ./${fileOf(block)}`;
    return [
      `echo "${HEADER}${guide}:${block.line}"`,
      block.refused ? `if (${run}); then echo "This was to be refused."; exit 1; fi` : run,
    ];
  });
  return ["set -euo pipefail", ...steps.flat(), ""].join("\n");
}
