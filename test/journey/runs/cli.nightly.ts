/** `auspex` from the command line, against a real deployment: login, failures, and the commands that read. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { z } from "zod";
import { ROOT } from "../../../src/dev/bundle.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { prediction } from "../../../src/protocol/prediction.ts";
import { Home } from "../../cli/support/command.ts";
import { duotone, pixelsOf, SAMPLE } from "../support/duotone.ts";
import { world } from "../support/shared.ts";

let home: Home;

beforeAll(() => {
  home = new Home({ AUSPEX_URL: world.access.url, AUSPEX_TOKEN: world.access.token });
});
afterAll(() => home.remove());

it("`auspex login` keeps a valid token, readable by its owner only, and for its own deployment only", async () => {
  const { url, token } = world.access;
  const fresh = new Home();
  const before = await fresh.run(["models"]);
  expect(before).toMatchObject({ code: 2, err: expect.stringContaining("auspex login") });
  const wrong = await fresh.run(["login", url], { input: "aus_wrong\n" });
  expect(wrong).toMatchObject({
    code: 1,
    err: expect.stringMatching(/token.*\nLog in with auspex login/),
  });
  const { code, out } = await fresh.run(["login", url, "--json"], { input: `${token}\n` });
  const told = z.object({ url: z.string(), username: z.string(), file: z.string() });
  const { file, ...rest } = told.parse(JSON.parse(out));
  expect([code, rest]).toEqual([0, { url, username: "ada" }]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(out).not.toContain(token);
  const { out: models } = await fresh.run(["models", "--json"]);
  expect(JSON.parse(models)).toContainEqual(expect.objectContaining({ name: "text-generation" }));
  const elsewhere = await fresh.run(["models"], {
    environment: { AUSPEX_URL: "http://127.0.0.1:9" },
  });
  expect(elsewhere).toMatchObject({ code: 2, err: expect.stringContaining("Not logged in to") });
  await fresh.run(["logout"]);
  expect((await fresh.run(["models"])).code).toBe(2);
  fresh.remove();
});

it("`auspex run --json` prints the whole prediction; the output of a chat is text", async () => {
  const sums = ["run", "ada/sums", "numbers=[1, 2.5]", "operation=mean", "--json"];
  const { out } = await home.run(sums);
  expect(JSON.parse(out)).toMatchObject({
    status: "succeeded",
    input: { numbers: [1, 2.5], operation: "mean" },
    output: { result: 1.75 },
  });
  const question = "messages=Where is the golden key?";
  const chat = await home.run(["run", "ada/chat", question, "-q"]);
  expect(chat).toMatchObject({ code: 0, err: "" });
  expect(chat.out).toMatch(/^[^{}]{20,}\n$/);
});

it("`auspex run` saves the same file twice under two names", async () => {
  const folder = join(home.folder, "pictures");
  const colours = { dark: "#102030", light: "#f0e0d0", width: 200 };
  const inputs = Object.entries(colours).map(([name, value]) => `${name}=${value}`);
  const args = ["run", "ada/duotone", `image=@${SAMPLE}`, ...inputs, "-o", folder];
  const [first, second] = [await home.run(args), await home.run(args)];
  expect(first, first.err).toMatchObject({ code: 0, out: `${join(folder, "duotone.png")}\n` });
  expect(second.out).toBe(`${join(folder, "duotone-2.png")}\n`);
  expect(readdirSync(folder).sort()).toEqual(["duotone-2.png", "duotone.png"]);
  const made = await pixelsOf(readFileSync(join(folder, "duotone.png")));
  expect(made).toEqual(await duotone(readFileSync(SAMPLE), colours));
});

it("a run that fails says why and ends with 1; an invalid input is refused before the run", async () => {
  const failed = await home.run(["run", "ada/sums", "numbers:=[1]", "mode=fail"]);
  expect(failed).toMatchObject({ code: 1, out: "", err: expect.stringMatching(/\nauspex: .+\n$/) });
  const asJson = await home.run(["run", "ada/sums", "numbers:=[1]", "mode=fail", "--json", "-q"]);
  expect(JSON.parse(asJson.out)).toMatchObject({ status: "failed" });
  expect(JSON.parse(asJson.err)).toEqual({ error: { message: expect.any(String), exit_code: 1 } });
  for (const [input, message] of [
    ["mode=wild", /mode: must be one of "normal"/],
    ["numbers=many", /numbers: /],
    ["numbers", /Use key=value/],
  ] as const)
    expect(await home.run(["run", "ada/sums", input])).toMatchObject({
      code: 2,
      err: expect.stringMatching(message),
    });
  const nobody = await home.run(["run", "ada/nothing"]);
  expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining("auspex: ") });
});

it("`auspex run` cancels a prediction whose output nobody reads any more", async () => {
  const run = "run ada/text-generation prompt=Alice max_tokens=2000";
  const piped = `node src/cli/main.ts ${run} | head -c 5; echo ":\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", piped], {
    cwd: ROOT,
    env: { ...process.env, ...home.environment },
  });
  expect(stdout).toMatch(/^[^:]{1,5}:141\n$/);
  expect(stderr).toMatch(/auspex: Canceled [0-9a-f-]{36}\.\n$/);
});

it("a prediction that runs detached is listed, read, and canceled", async () => {
  const { out } = await home.run([
    "run",
    "ada/sums",
    "-d",
    "numbers:=[1]",
    "mode=slow",
    "seconds=60",
  ]);
  const id = out.trim();
  const watch = world.watch(id);
  await watch.first("logs");
  const logs = await home.run(["logs", id]);
  expect(logs).toMatchObject({ code: 0, out: expect.stringMatching(/\S/) });
  const follower = home.start(["logs", id, "--follow", "--json"]);
  expect((await home.run(["cancel", id])).code).toBe(0);
  await watch.ended;
  const lines = (await follower.end()).out.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).source)).toContain("model");
  const shown = await home.run(["predictions", id, "--json"]);
  expect(JSON.parse(shown.out)).toMatchObject({ id, status: "canceled" });
  expect(await home.run(["cancel", id])).toMatchObject({ code: 1 });
  const filter = ["--model", "ada/sums", "--status", "canceled", "--json"];
  // The list has the end after the watch, and a look by the API starts no process.
  const isListed = async () => {
    const list = pageOf(prediction);
    const { items } = await world.client.call(list, "GET", "/predictions?statuses=canceled");
    expect(items).toContainEqual(expect.objectContaining({ id }));
  };
  await vi.waitFor(isListed);
  const { out: canceled } = await home.run(["predictions", ...filter]);
  expect(JSON.parse(canceled)).toContainEqual(expect.objectContaining({ id }));
  const versions = await home.run(["versions", "ada/sums"]);
  expect(versions.out).toMatch(/^VERSION .*\nada\/sums:1 /);
  expect((await home.run(["versions", "ada/sums:1"])).out).toContain("First version");
});
