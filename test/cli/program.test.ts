/** The process of the command; errors about wrong options and arguments: in words, or as JSON. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { requireNode, VERSION } from "../../src/cli/folders.ts";
import { Home } from "./support/command.ts";

const home = new Home();
afterAll(() => home.remove());

test("the process prints and reads what the command does, and ends with its exit code", async () => {
  expect(await home.run(["--version"])).toEqual({ code: 0, out: `${VERSION}\n`, err: "" });
  const piped = await home.run(["run", "ada/story", "--input", "-"], { input: "[]" });
  expect(piped).toEqual({ code: 2, out: "", err: expect.stringMatching(/^auspex: --input: /) });
});

test.each([
  ["an option", ["models", "--json", "--quite"], /unknown option '--quite'\n.*mean --quiet/],
  ["an argument", ["logs", "--json", "none"], /^Invalid prediction ID "none"/],
  ["a missing argument", ["run", "--json"], /^missing required argument 'model'/],
  ["a command", ["publsh", "--json"], /^unknown command 'publsh'/],
])("%s that is wrong is an error as JSON with --json", async (_, args, message) => {
  const { code, out, err } = await home.call(args);
  expect([code, out]).toEqual([2, ""]);
  expect(JSON.parse(err)).toEqual({
    error: { message: expect.stringMatching(message), exit_code: 2 },
  });
});

test("a wrong option is an error in words without --json", async () => {
  const { code, out, err } = await home.call(["models", "--quite"]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toBe("auspex: unknown option '--quite'\n(Did you mean --quiet?)\nSee --help.\n");
});

test.each([
  [["models", "delete", "ada/a/b"], 'Invalid model "ada/a/b". Use owner/name'],
  [["models", "delete", "ada/a:1"], '"ada/a:1" is a version. Use the model: ada/a'],
  [["run", "Greeter"], 'Invalid model "Greeter". Use owner/name or owner/name:3'],
  [["versions", "delete", "a b"], 'Invalid version "a b". Use owner/name:3'],
  [["versions", "delete", "a"], '"a" has no version number. Use a:3'],
  [["predictions", "--model", "ada/"], 'Invalid model "ada/". Use owner/name'],
  [
    ["tags", "delete", "ada/a"],
    'Invalid image "ada/a". Use owner/name:tag or owner/name@sha256:…. List them with auspex tags owner/name',
  ],
])("the arguments %j are refused", async (args, message) => {
  const { code, out, err } = await home.call(args);
  expect([code, out]).toEqual([2, ""]);
  expect(err.split("\n")[0]).toMatch(/^auspex: /);
  expect(err).toContain(`${message}.`);
  expect(err).not.toMatch(/command-argument|error:/);
});

test.each([
  [
    ["hardware", "--limit", "0"],
    "option '--limit <count>' argument '0' is invalid. Use a whole number from 1 to 50.",
  ],
])("the option in %j is refused", async (args, message) => {
  const { code, err } = await home.call(args);
  expect([code, err.split("\n")[0]]).toEqual([2, `auspex: ${message}`]);
});

test("help is no error, with or without --json", async () => {
  const { code, out, err } = await home.call(["models", "--help", "--json"]);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^Usage: auspex models/);
});

test("run --help explains how to give JSON", async () => {
  const { out } = await home.call(["run", "--help"]);
  expect(out).toMatch(/\n +key:=JSON +JSON, such as/);
  expect(out).toContain(`messages:='[{"role": "user"`);
});

test("https:// to a server of plain HTTP is an error with the right address", async () => {
  const server = createServer((_, response) => response.end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const plain = new Home({ AUSPEX_URL: `https://127.0.0.1:${port}`, AUSPEX_TOKEN: "aus_x" });
  onTestFinished(() => plain.remove());
  const { code, err } = await plain.call(["models"]);
  expect(code).toBe(1);
  expect(err).toMatch(/that port does not use TLS.*http:\/\//);
  expect(err).toContain(`auspex login http://127.0.0.1:${port} `);
  expect(err).not.toMatch(/openssl|SSL routines/i);
});

test.each(["22.13.0", "22.20.0", "24.0.0", "100.0.0"])("the command runs on Node %s", (version) => {
  expect(() => requireNode(version)).not.toThrow();
});

test.each(["22.12.0", "22.2.0", "20.20.2", "9.0.0"])(
  "the command says which Node it needs on %s",
  (version) => {
    expect(() => requireNode(version)).toThrow(
      `auspex requires Node 22.13 or newer; this is Node ${version}.`,
    );
  },
);
