/** Usage and error messages of the commands of package.json. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { claimState, StateTaken } from "../../src/dev/state.ts";
import { runScript } from "./deploy/support/script.ts";

const ADDRESS = "http://127.0.0.1:1";
const OPERATOR_TOKEN = "of-nobody";

/** The first line of each command's usage, and mistakes with the message that each causes. */
const COMMANDS: [file: string, usage: string, mistakes: [args: string, said: string][]][] = [
  [
    "src/dev/start.ts",
    "npm start -- [--port",
    [
      ["--prot 9000", "Unknown option '--prot'"],
      ["--docker --empty", "--empty can't be used with --docker."],
      ["--port 9000x", "--port takes a whole number from 1 to 65535, not “9000x”."],
    ],
  ],
  [
    "src/dev/deploy/main.ts",
    "npm run deploy --",
    [
      ["--dryrun", "Unknown option '--dryrun'"],
      ["--url auspex.example.com", "“auspex.example.com” is no address"],
    ],
  ],
  [
    "src/dev/verify/main.ts",
    "AUSPEX_TOKEN=… npm run verify --",
    [
      ["", "Missing address"],
      ["localhost:8787", "“localhost:8787” is no address such as https://auspex.example.com."],
      [
        `${ADDRESS} --webhook-port soon`,
        "--webhook-port takes a whole number from 1 to 65535, not “soon”.",
      ],
    ],
  ],
  [
    "src/dev/backup/main.ts",
    "npm run backup -- COMMAND",
    [
      ["list --all", "Unknown option '--all'"],
      ["list", "Set AUSPEX_URL and AUSPEX_TOKEN."],
    ],
  ],
  ["test/storm/main.ts", "npm run storm --", [["--minutes x", "--minutes takes a number"]]],
  ["test/simulate/main.ts", "npm run simulate --", [["--load 7", "There is no load 7."]]],
  ["test/bench/main.ts", "npm run bench --", [["--only latency,page,x", "There is no part x."]]],
];

for (const [file, usage, mistakes] of COMMANDS)
  test(`${file} says how it is used, and what is wrong`, async () => {
    const run = (args: string) =>
      runScript(file, args.split(" ").filter(Boolean), { OPERATOR_TOKEN });
    const [help, ...answers] = await Promise.all(
      ["--help", ...mistakes.map(([args]) => args)].map(run),
    );
    expect(help).toEqual({ code: 0, output: expect.stringContaining(usage) });
    for (const [index, [, said]] of mistakes.entries()) {
      expect(answers[index]).toEqual({ code: 1, output: expect.stringContaining(said) });
      expect(answers[index]?.output).toContain(usage);
      expect(answers[index]?.output).not.toMatch(/^ +at /m);
    }
  });

test("npm start -- --docker begins nothing without Docker", async () => {
  const environment = { AUSPEX_DOCKER_SOCKET: "/nowhere/docker.sock" };
  const { code, output } = await runScript("src/dev/start.ts", ["--docker"], environment);
  expect(code).toBe(1);
  expect(output).toMatch(
    /Docker does not respond at \/nowhere\/docker\.sock.*Start Docker.*omit --docker/,
  );
  expect(output).not.toContain("Building");
});

test("`npm run verify` reports a deployment that does not answer, or refuses, in words", async () => {
  const { code, output } = await runScript("src/dev/verify/main.ts", [ADDRESS], { OPERATOR_TOKEN });
  expect(code).toBe(1);
  expect(output).toMatch(/The deployment was not reached: .*Check its address and your network\./);
});

test("two deployments cannot share one state folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "auspex-claim-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  claimState(folder);
  expect(() => claimState(folder)).toThrow(StateTaken);
});
