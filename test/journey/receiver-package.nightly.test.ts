/** The package `auspex-webhooks` as receivers install it: packed, without the rest of this repository. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packReceiver } from "../../src/dev/packages.ts";

const run = promisify(execFile);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const USE = `
const body = process.env.BODY;
const headers = JSON.parse(process.env.HEADERS);
verifyWebhook({ headers, body }, process.env.SECRET)
  .then((event) => console.log(event.status))
  .then(() => verifyWebhook({ headers, body: body + " " }, process.env.SECRET))
  .catch((error) => console.log(error instanceof WebhookVerificationError, error.code));
`;
const NAMES = "{ verifyWebhook, WebhookVerificationError }";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "auspex-receiver-"));
  await packReceiver(folder);
  await writeFile(join(folder, "package.json"), "{}");
  await run("npm", ["install", "--offline", "./auspex-webhooks.tgz"], { cwd: folder });
});

afterAll(() => rm(folder, { recursive: true }));

test.each([
  ["module.mjs", `import ${NAMES} from "auspex-webhooks";`],
  ["common.cjs", `const ${NAMES} = require("auspex-webhooks");`],
])("the package works in %s", async (file, first) => {
  await writeFile(join(folder, file), first + USE);
  const [at, body] = [new Date(), '{"status":"succeeded"}'];
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": `${Math.floor(at.getTime() / 1_000)}`,
    "webhook-signature": new Webhook(SECRET).sign("evt_1", at, body),
  };
  const env = { SECRET, BODY: body, HEADERS: JSON.stringify(headers) };
  const { stdout } = await run(process.execPath, [file], { cwd: folder, env });
  expect(stdout).toBe("succeeded\ntrue no_match\n");
});

test("the types of the package need none but those of the language", async () => {
  const files = ["module.mts", "common.cts"];
  for (const file of files)
    await writeFile(
      join(folder, file),
      `import { verifyWebhook } from "auspex-webhooks";
const status = async (body: string): Promise<"succeeded" | undefined> => {
  const event = await verifyWebhook({ headers: {}, body }, "secret");
  return event.status === "succeeded" ? event.status : undefined;
};`,
    );
  const strict = ["--noEmit", "--strict", "--module", "nodenext", "--lib", "es2022", "--types", ""];
  await run("tsc", [...strict, ...files], { cwd: folder }).catch(({ stdout }) =>
    expect.fail(stdout),
  );
});
