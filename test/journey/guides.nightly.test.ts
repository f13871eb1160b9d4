/** Every runnable example of the guides runs unchanged against a deployment like that of `npm start`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import { World } from "./support/world.ts";

/** The marks that may follow the language of a block. */
const MARKS = { left_out: "no-run", refused: "refused" };

/** The languages of blocks, each with the command that runs a file of it. */
const RUN: Record<string, string> = {
  sh: "source",
  js: "node --import ./strict-fetch.mjs",
  python: "python3",
};
const SHOWN = ["dockerfile", "html", "json", "text", "sql", "toml", "yaml"];

interface Block {
  language: string;
  /** The line of the guide where its code begins, from 1. */
  line: number;
  code: string;
  /** True if the example shows a refusal, and so has to fail. */
  refused: boolean;
}

/** The blocks of shell, JavaScript and Python that are not marked `no-run`, in order. */
function blocksIn(markdown: string): Block[] {
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
async function runBlocks(
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

/** The settings of `npm start`. Its long leases are fine here, because no runner is lost. */
const SETTINGS = {
  WEBHOOK_ALLOW_INSECURE: "true",
  LEASE_SECONDS: "30",
  CONNECT_SECONDS: "5",
  CANCEL_SECONDS: "60",
  // No resolver listens on port 1: a webhook that an example posts to example.com stays on this machine.
  WEBHOOK_RESOLVER: "http://127.0.0.1:1/dns-query",
};

const guides = await Promise.all(
  ["README.md", ...globSync("src/dashboard/guides/*.md", { cwd: ROOT })].map(async (path) => {
    const blocks = blocksIn(await readFile(join(ROOT, path), "utf8"));
    return { name: basename(path), blocks };
  }),
);
const runnable = guides.filter(({ blocks }) => blocks.length > 0);

let world: World;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  world = await World.open({ username: "demo", variables: SETTINGS });
  await world.runner("quickstart", { slots: 32, environment: { AUSPEX_CONTAINERS: "8" } });
  const { url } = await world.relay();
  folder = await mkdtemp(join(tmpdir(), "auspex-guides-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const bin = join(folder, "bin");
  await mkdir(bin);
  await symlink(process.execPath, join(bin, "node"));
  environment = {
    PATH: [bin, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    AUSPEX_URL: url,
    AUSPEX_TOKEN: world.access.token,
    // No registry listens on port 9: an example that asks a registry for anything fails.
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_update_notifier: "false",
  };
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

test.concurrent.each(runnable)("the examples of $name run", async ({ name, blocks }) => {
  const own = join(folder, name);
  await mkdir(own);
  await runBlocks(name, blocks, own, environment);
});

const listed = async (query: string) =>
  (await world.client.call(pageOf(prediction), "GET", `/predictions?${query}`)).items;

test("no prediction of the guides' examples fails", async () => {
  const idle = async () => expect(await listed("statuses=pending&statuses=started")).toEqual([]);
  await vi.waitFor(idle, { interval: 200 });
  expect(await listed("statuses=failed")).toEqual([]);
  expect((await listed("statuses=succeeded")).length).toBeGreaterThan(5);
});
