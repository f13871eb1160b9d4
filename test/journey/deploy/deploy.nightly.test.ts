/** `npm run deploy` with the real wrangler, on a stand-in for a Cloudflare account. */
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROOT } from "../../../src/dev/bundle.ts";
import { readConfiguration } from "../../../src/dev/deploy/configuration.ts";
import { migrations } from "../../../src/dev/deploy/migrations.ts";
import type { Step } from "../../../src/dev/deploy/step.ts";
import {
  addressIn,
  buckets,
  code,
  database,
  queues,
  secrets,
} from "../../../src/dev/deploy/steps.ts";
import { Cloudflare } from "./support/cloudflare.ts";
import { configuration, Terminal } from "./support/terminal.ts";

let cloudflare: Cloudflare;
let terminal: Terminal;

beforeEach(async () => {
  cloudflare = await Cloudflare.open();
  terminal = new Terminal(cloudflare.environment);
});
afterEach(async () => {
  terminal.close();
  await cloudflare.close();
});

const D1 = "/d1/database/00000000-0000-4000-8000-000000000000";
const WORKER = "/workers/scripts/auspex";
const UPLOAD = [
  `POST ${WORKER}/assets-upload-session`,
  `PUT ${WORKER}`,
  `POST ${WORKER}/subdomain`,
  `PUT ${WORKER}/schedules`,
];
const CONSUMED = ["auspex-dispatch", "auspex-counts", "auspex-traces"];
const QUEUES = [...CONSUMED, ...CONSUMED.map((name) => `${name}-dead`)];

const BUCKETS = ["auspex-files", "auspex-backups", "auspex-images"];
const MIGRATIONS = readdirSync(join(ROOT, "migrations")).filter((name) => name.endsWith(".sql"));

/** All calls that change something in a deploy on a fresh account, in order. */
const FRESH = [
  ...QUEUES.map(() => "POST /queues"),
  ...BUCKETS.map(() => "POST /r2/buckets"),
  "POST /d1/database",
  `PATCH ${D1}`,
  // All migrations go in one file: the first call asks where to put it, the second imports it.
  `POST ${D1}/import`,
  `POST ${D1}/import`,
  // An empty Worker is uploaded first, to hold the secrets.
  `PUT ${WORKER}`,
  `PATCH ${WORKER}/secrets-bulk`,
  ...UPLOAD,
  ...CONSUMED.map((name) => `POST /queues/${name}/consumers`),
];

const secretsOf = () => cloudflare.account.workers.get("auspex")?.secrets ?? new Map();

test("a deploy works on a fresh account, and again as an update", async () => {
  const first = await terminal.deploy("--url", cloudflare.origin);
  expect(first.code, first.output).toBe(0);
  expect(cloudflare.changes).toEqual(FRESH);
  expect(cloudflare.account.queues.map(({ name }) => name)).toEqual(QUEUES);
  for (const name of CONSUMED) {
    const consumer = { script: "auspex", dead_letter_queue: `${name}-dead` };
    expect(cloudflare.account.queues).toContainEqual(
      expect.objectContaining({ name, consumer: expect.objectContaining(consumer) }),
    );
  }
  expect([...secretsOf().keys()]).toEqual(["OPERATOR_TOKEN", "SECRET_KEY"]);
  for (const value of secretsOf().values()) {
    expect(value).toMatch(/^[\w-]{43}$/);
    expect(first.output.split(value)).toHaveLength(2);
  }
  expect(first.output).toContain(`Open ${cloudflare.origin}/set-up and enter the OPERATOR_TOKEN`);

  cloudflare.changes.length = 0;
  const set = new Map(secretsOf());
  const second = await terminal.deploy("--url", cloudflare.origin);
  expect(second.code, second.output).toBe(0);
  expect(cloudflare.changes).toEqual([
    ...UPLOAD,
    ...CONSUMED.map((name) => `PUT /queues/${name}/consumers/consumer`),
  ]);
  expect(secretsOf()).toEqual(set);
  for (const value of set.values()) expect(second.output).not.toContain(value);
});

test("--dry-run says what a deploy would do, and changes nothing", async () => {
  const { code: exit, output } = await terminal.deploy("--dry-run");
  expect(exit, output).toBe(0);
  expect(cloudflare.changes).toEqual([]);
  for (const what of [
    ...QUEUES.map((name) => `create ${name}`),
    ...BUCKETS.map((name) => `create ${name}`),
    "create auspex",
    "enable read replication of auspex",
    `apply ${MIGRATIONS.toSorted().join(", ")}`,
    "set OPERATOR_TOKEN",
    "deploy auspex",
  ]) {
    expect(output).toContain(`would change: ${what}`);
  }
});

/** Each step, and the call of the API that fails at the first try. */
const steps = (): [step: Step, call: RegExp][] => [
  // The second of two queues fails: the first one exists when the step runs again.
  [queues, /^POST \/queues .*auspex-counts/],
  [buckets, /^POST \/r2/],
  [database, /^POST \/d1/],
  [migrations(), /^POST .*\/import .*ingest/],
  [secrets({}), /^PATCH .*\/secrets-bulk/],
  [code({ url: undefined }), /^PUT \/workers.*PredictionObject/s],
];

/**
 * A configuration with two queues and one bucket: further ones would be looked for and made in the same way.
 */
const few = {
  ...configuration,
  queues: configuration.queues.slice(0, 2),
  buckets: configuration.buckets.slice(0, 1),
};

/** Creates the remaining queues and buckets, which the Worker is bound to, too. */
function makeOthers({ account }: Cloudflare): void {
  const made = { jurisdiction: undefined, consumer: undefined };
  account.queues.push(...QUEUES.slice(2).map((name) => ({ name, ...made })));
  account.buckets.push(...configuration.buckets.slice(1));
}

test("a step that fails is done when the deploy runs again", async () => {
  makeOthers(cloudflare);
  for (const [step, call] of steps()) {
    cloudflare.failing = call;
    const failed = terminal.run(step, few);
    await expect(failed).rejects.toThrow(/An unknown error[\s\S]*Run it again/);
    expect(cloudflare.failing, step.title).toBeUndefined();
    await terminal.run(step, few);
  }
  const { databases, queues: made, buckets: places, workers } = cloudflare.account;
  expect([databases, made, places, [...workers]].map(({ length }) => length)).toEqual([1, 6, 3, 1]);
  expect(secretsOf().size).toBe(2);
  const last = -UPLOAD.length - CONSUMED.length;
  expect(cloudflare.changes.slice(last)).toEqual(FRESH.slice(last));
});

test("a deploy refuses a collector's address with which the Worker would not start", async () => {
  const toml = await readFile(join(ROOT, "wrangler.toml"), "utf8");
  const file = join(terminal.folder, "wrangler.toml");
  const set = 'OTLP_ENDPOINT = "http://otlp.example.com"';
  await writeFile(file, toml.replace('OTLP_ENDPOINT = ""', set));
  await expect(readConfiguration(file)).rejects.toThrow("OTLP_ENDPOINT");
});

test("a deploy with a jurisdiction creates everything there", async () => {
  const toml = await readFile(join(ROOT, "wrangler.toml"), "utf8");
  const file = join(terminal.folder, "wrangler.toml");
  const eu = toml.replace('JURISDICTION = ""', 'JURISDICTION = "eu"');
  await writeFile(file, eu);
  await expect(readConfiguration(file)).rejects.toThrow('set jurisdiction = "eu"');
  await writeFile(file, eu.replaceAll("[[r2_buckets]]", '$&\njurisdiction = "eu"'));
  const all = await readConfiguration(file);
  const settings = { ...all, queues: ["auspex-counts"], buckets: all.buckets.slice(-1) };
  for (const step of [queues, buckets]) {
    await terminal.run(step, settings);
    expect(await terminal.run(step, settings)).toMatch(/ exists$/);
  }
  cloudflare.failing = /^PATCH \/d1/;
  const said = await terminal.run(database, settings);
  expect(said).toMatch(
    /not enabled \(An unknown error has occurred\. \[code: 10013\]\); enable it in Cloudflare's dashboard, in the settings/,
  );
  expect(cloudflare.account.databases[0]?.replication).toBe("disabled");
  expect(await terminal.run(database, settings)).toContain(" exists\n");
  expect(cloudflare.account.databases[0]?.replication).toBe("auto");
  const { databases, buckets: places, queues: made } = cloudflare.account;
  const where = [...databases, ...places, ...made].map(({ jurisdiction }) => jurisdiction);
  expect(where).toEqual(["eu", "eu", "eu"]);
});

test("secrets that were given are set, and not shown", async () => {
  const said = await terminal.run(secrets({ OPERATOR_TOKEN: "given", SECRET_KEY: "also given" }));
  expect(Object.fromEntries(secretsOf())).toEqual({
    OPERATOR_TOKEN: "given",
    SECRET_KEY: "also given",
  });
  expect(said).not.toContain("given");
});

test("a deploy in CI, whose log is kept, generates no secrets", async () => {
  await expect(terminal.run(secrets({ CI: "true" }))).rejects.toThrow(/in your CI log/);
  expect(cloudflare.changes).toEqual([]);
});

test.each([
  ["who is not logged in", { CLOUDFLARE_API_TOKEN: "" }, "npx wrangler login", []],
  [
    "who has no network",
    { CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:1", CLOUDFLARE_API_TOKEN: "a-token" },
    "Check your network connection",
    ["--dry-run"],
  ],
])("a deploy by a user %s ends with advice", async (_, environment, advice, args) => {
  const own = new Terminal(environment);
  const { code: exit, output } = await own.deploy(...args);
  own.close();
  expect(exit).toBe(1);
  expect(output).toContain(advice);
  expect(output).toContain(args.length > 0 ? "Nothing was changed." : "Completed steps are kept.");
});

test.each([
  [["https://auspex.team.workers.dev", "schedule: * * * * *"], "https://auspex.team.workers.dev"],
  [["auspex.team.workers.dev", "auspex.example.com (custom domain)"], "https://auspex.example.com"],
  [["files.example.com (custom domain)", "auspex.example.com/*"], "https://auspex.example.com"],
  [["Producer for auspex-dispatch"], undefined],
])("the address of the deployment with targets %j is %s", (targets, address) => {
  const report = `${JSON.stringify({ type: "wrangler-session" })}\n${JSON.stringify({ type: "deploy", targets })}\n`;
  expect(addressIn(report, "https://files.example.com")).toBe(address);
});
