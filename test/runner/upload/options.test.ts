/** What `auspex-runner upload` is asked for, and what it says when that is wrong. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ControlPlaneError } from "../../../runner/src/control-plane/error.ts";
import { SettingsError } from "../../../runner/src/settings/read-settings.ts";
import { adviceAtBegin, adviceMidway, isUploadGone } from "../../../runner/src/upload/advice.ts";
import { readUploadOptions } from "../../../runner/src/upload/options.ts";
import { errorOf } from "../support/public-fetch-server.ts";

const environment = { AUSPEX_URL: "https://auspex.test/", AUSPEX_TOKEN: "aus_one" };
let folder: string;
let photo: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "auspex-options-")));
  photo = join(folder, "photo.png");
  writeFileSync(photo, "12345");
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (flags = {}, variables = {}) =>
  readUploadOptions(photo, flags, { ...environment, ...variables });

test("from the environment, and the rest as usual", async () => {
  expect(await read()).toEqual({
    url: "https://auspex.test",
    token: "aus_one",
    mime_type: "image/png",
    name: "photo.png",
    parallel: 4,
    quiet: false,
    file: { path: photo, size: 5, mtimeMs: expect.any(Number) },
  });
});

test("flags beat the environment; the settings of a runner play no part", async () => {
  const token = join(folder, "token");
  writeFileSync(token, "aus_two\n");
  const flags = {
    url: "http://localhost:8787",
    "token-file": token,
    "mime-type": "image/x-photo",
    name: "other name",
    parallel: "16",
    quiet: true,
  };
  const runner = { AUSPEX_NAME: "box", AUSPEX_SLOTS: "many", AUSPEX_TOKEN_FILE: "/nowhere" };
  expect(await read(flags, runner)).toMatchObject({
    url: "http://localhost:8787",
    token: "aus_two",
    mime_type: "image/x-photo",
    name: "other name",
    parallel: 16,
    quiet: true,
  });
  expect(await read({}, runner)).toMatchObject({ name: "photo.png", token: "aus_one" });
});

test.each([
  ["a.safetensors", "application/octet-stream"],
  ["README", "application/octet-stream"],
  ["a.JPG", "image/jpeg"],
  ["a.tar.gz", "application/gzip"],
])("%s is %s", async (name, mime_type) => {
  const path = join(folder, name);
  writeFileSync(path, "x");
  expect(await readUploadOptions(path, {}, environment)).toMatchObject({ mime_type, name });
});

test("a link leads to the file; a name that the service does not take is left out", async () => {
  const link = join(folder, "back\\slash.png");
  symlinkSync(photo, link);
  const options = await readUploadOptions(link, {}, environment);
  expect(options).toMatchObject({ name: undefined, file: { path: photo } });
});

test.each<[Record<string, string>, Record<string, string>, RegExp]>([
  [{}, { AUSPEX_URL: "" }, /^url \(AUSPEX_URL, --url\): is required: .*https:/],
  [{ url: "auspex.test" }, {}, /^url .*: must be an http or https URL$/],
  [{}, { AUSPEX_TOKEN: "" }, /^token \(AUSPEX_TOKEN, --token-file\): is required: create a token/],
  [
    {},
    { AUSPEX_TOKEN: "ausr_x" },
    /^token .*: is a runner token \(ausr_…\): uploads need a user token \(aus_…\)$/,
  ],
  [{}, { AUSPEX_TOKEN: "secret" }, /^token .*: must be a user token \(it begins with "aus_"\)$/],
  [{ "token-file": "/nowhere" }, {}, /^token \(--token-file\): ENOENT/],
  [{ "mime-type": "png" }, {}, /^mime_type \(--mime-type\): .*image\/png/],
  [{ name: "a/b" }, {}, /^name \(--name\): a name without slashes/],
  [{ parallel: "0" }, {}, /^parallel \(--parallel\): /],
  [{ parallel: "x" }, {}, /^parallel \(--parallel\): must be a number$/],
])("flags %j, variables %j: %s", async (flags, variables, message) => {
  const error = await errorOf(read(flags, variables));
  expect(error).toBeInstanceOf(SettingsError);
  expect(error).toMatchObject({ message: expect.stringMatching(message) });
  expect(String(error)).not.toContain("secret");
});

test("what is no file that can be sent", async () => {
  const messageFor = async (path?: string) => {
    const error = await errorOf(readUploadOptions(path, {}, environment));
    expect(error).toBeInstanceOf(SettingsError);
    return String(error);
  };
  mkdirSync(join(folder, "photos"));
  writeFileSync(join(folder, "empty"), "");
  expect(await messageFor()).toContain("upload needs a file");
  expect(await messageFor(join(folder, "photos"))).toContain("is a directory: upload its files");
  expect(await messageFor(join(folder, "empty"))).toContain("is empty");
  expect(await messageFor(join(folder, "gone"))).toMatch(/gone cannot be read: ENOENT/);
  expect(await messageFor("/dev/null")).toContain("is not a regular file");
});

const refusal = (status?: number) => new ControlPlaneError("Words.", status ? { status } : {});

test("before there is an upload, an error says what to look at", async () => {
  const options = await read();
  const advice = (error: unknown) => adviceAtBegin(error, options);
  expect(advice(refusal())).toMatch(/^Words\.\n.*AUSPEX_URL.*network.*again/);
  expect(advice(refusal(401))).toMatch(/^Words\.\n.*AUSPEX_TOKEN/);
  expect(advice(refusal(403))).toBe("Words.");
  expect(advice(refusal(404))).toMatch(/does not accept uploads: Words\.\n.*AUSPEX_URL/);
  expect(advice(refusal(422))).toMatch(/photo\.png \(5 B\) was rejected: Words\.\nSplit files/);
});

test("midway it says whether the same command goes on", () => {
  expect(adviceMidway(refusal(), true)).toMatch(/again to resume\.$/);
  expect(adviceMidway(refusal(503), false)).toMatch(/again to start over\.$/);
  expect(adviceMidway(refusal(401), true)).toMatch(/AUSPEX_TOKEN.* again to resume\.$/);
  expect(adviceMidway(refusal(409), true)).toMatch(/again to start over\.$/);
  expect(adviceMidway(new Error("The file changed."), true)).toBe("The file changed.");
  const lost = [undefined, 200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503];
  expect(lost.filter((status) => isUploadGone(refusal(status)))).toEqual([
    400, 403, 404, 409, 413, 422,
  ]);
});
