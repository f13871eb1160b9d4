/** Errors when the files of an output cannot be saved. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { OutputFiles } from "../../../src/cli/run/output-files.ts";
import { Home } from "../support/command.ts";

let requests = 0;
let location: string | undefined;
const server = createServer((_, response) => {
  requests++;
  if (location !== undefined) response.writeHead(307, { location });
  response.end("bytes");
});
let folder: string;
let url: string;
beforeEach(async () => {
  requests = 0;
  location = undefined;
  folder = mkdtempSync(join(tmpdir(), "auspex-output-"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const file = () => `${url}/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e/out.png?signature=x`;
const filesIn = (place: string) =>
  new OutputFiles({ url, token: "aus_x" }, place, AbortSignal.timeout(10_000));

test("missing folders are created", async () => {
  const deep = join(folder, "some/where");
  expect(await filesIn(deep).save(file())).toBe(join(deep, "out.png"));
  expect(await filesIn(deep).save(file())).toBe(join(deep, "out-2.png"));
});

test("a save ends with an error where no folder can be created", async () => {
  await expect(filesIn("/proc/some/where").save(file())).rejects.toThrow(
    "Can't save the output in /proc/some/where: ENOENT",
  );
});

test("a folder that cannot be created or written is reported before the run", async () => {
  await expect(filesIn("/proc/some/where").prepare()).rejects.toThrow(
    "Can't save the output in /proc",
  );
  const home = new Home({ AUSPEX_URL: url, AUSPEX_TOKEN: "aus_x" });
  onTestFinished(() => home.remove());
  const { code, err } = await home.call(["run", "ada/story", "--output", "/proc/some/where"]);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/Can't save the output in \/proc\/some\/where: .*\n.*--output\.\n$/),
  ]);
  expect(requests).toBe(0);
});

test("an error while saving a file names the folder and another way", async () => {
  const taken = join(folder, "taken");
  writeFileSync(taken, "");
  const files = filesIn(taken);
  await expect(files.save(file())).rejects.toThrow(
    `Can't save the output in ${taken}: EEXIST: file already exists, mkdir '${taken}'\nChoose another folder with --output`,
  );
});

test.each([
  "http://127.0.0.1:1/",
  "http://169.254.169.254/latest",
  "https://[::1]/",
  "file:///etc/passwd",
])("a redirect to %s, which is not public, is not followed", async (target) => {
  location = target;
  await expect(filesIn(folder).save(file())).rejects.toThrow(
    /no public IP address|over http|not supported/,
  );
  expect(requests).toBe(1);
});
