/** Answers of Cloudflare's API during a deploy, some of which come from something else. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Cloudflare, type Wrangler } from "../../../src/dev/deploy/cloudflare.ts";
import { runSteps, type Step } from "../../../src/dev/deploy/step.ts";
import { account, secrets } from "../../../src/dev/deploy/steps.ts";
import { configuration } from "./support/terminal.ts";

/** Answers by path. */
let answers: Record<string, [status: number, body: string]>;
/** Commands of wrangler, each with the account that it is for. */
let commands: [string[], string | undefined][];
let said: string[];
const server = createServer(({ url = "" }, response) => {
  const [status, body] = answers[url] ?? [404, "<h1>Not here</h1>"];
  response.writeHead(status).end(body);
});

beforeEach(async () => {
  [answers, commands, said] = [{}, [], []];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => void server.close());

const wrangler: Wrangler = async (args, { environment } = {}) => {
  commands.push([args, environment?.CLOUDFLARE_ACCOUNT_ID]);
  return JSON.stringify({ token: "a-token" });
};

function run(step: Step, environment: Record<string, string> = {}) {
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const all = { CLOUDFLARE_API_BASE_URL: base, ...environment };
  const cloudflare = new Cloudflare(wrangler, undefined, all);
  const say = (line: string) => said.push(line);
  return runSteps([step], { cloudflare, configuration, dryRun: false, say });
}

const ACCOUNTS = "/accounts?per_page=50";
const ok = (result: unknown): [number, string] => [200, JSON.stringify({ result, errors: [] })];
const TEAM = { id: "1", name: "Team" };
const OTHER = { id: "2", name: "Other" };

test("a deploy uses the only account, and passes it to every command of wrangler", async () => {
  answers[ACCOUNTS] = ok([TEAM]);
  answers["/accounts/1/workers/scripts/auspex/secrets"] = [
    404,
    '{"errors":[{"code":10007,"message":"No such Worker"}]}',
  ];
  await run(account);
  expect(said.at(-1)).toBe("    Team (1)");
  await run(secrets({ OPERATOR_TOKEN: "a", SECRET_KEY: "b" }));
  expect(commands.at(-1)).toEqual([["secret", "bulk"], "1"]);
});

test("a deploy uses the account that is named, when the login sees several", async () => {
  answers[ACCOUNTS] = ok([TEAM, OTHER]);
  await expect(run(account)).rejects.toThrow(
    /More than one.*Team \(1\), Other \(2\)[\s\S]*export CLOUDFLARE_ACCOUNT_ID/,
  );
  await run(account, { CLOUDFLARE_ACCOUNT_ID: "2" });
  expect(said.at(-1)).toBe("    Other (2)");
});

test("a login that sees no account is refused with advice to name one", async () => {
  answers[ACCOUNTS] = ok([]);
  await expect(run(account)).rejects.toThrow("export CLOUDFLARE_ACCOUNT_ID");
});

test.each([
  [
    "a refusal",
    [403, '{"errors":[{"code":10000,"message":"Authentication error"}]}'],
    "npx wrangler login",
  ],
  ["a gateway", [502, "<html>"], "Cloudflare returned 502"],
  [
    "the page of a network",
    [200, "<html>Please log in</html>"],
    "Check for a proxy or a network login page",
  ],
] satisfies [string, [number, string], string][])(
  "a deploy's error names %s as the cause",
  async (_, answer, told) => {
    answers[ACCOUNTS] = answer;
    await expect(run(account)).rejects.toThrow(told);
  },
);

test("an answer that is not Cloudflare's does not replace the secrets of a deployment", async () => {
  answers[ACCOUNTS] = ok([TEAM]);
  await expect(run(secrets({ OPERATOR_TOKEN: "a", SECRET_KEY: "b" }))).rejects.toThrow(
    "Cloudflare returned 404",
  );
  expect(commands.map(([args]) => args)).toEqual([["auth", "token", "--json"]]);
});
