/** The file that is to be uploaded, and the errors about it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ControlPlaneError } from "../../../runner/src/lib/error.ts";
import {
  adviceAtBegin,
  adviceMidway,
  isUploadGone,
  readLocalFile,
} from "../../../src/cli/commands/upload.ts";
import { Misuse } from "../../../src/cli/failure.ts";

let folder: string;
let photo: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "auspex-options-")));
  photo = join(folder, "photo.png");
  writeFileSync(photo, "12345");
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a file keeps its name and type, unless others are given", async () => {
  const mtimeMs = expect.any(Number);
  const own = { path: photo, size: 5, mtimeMs, mimeType: "image/png", name: "photo.png" };
  expect(await readLocalFile(photo)).toEqual(own);
  const given = { mimeType: "image/x-photo", name: "other name" };
  expect(await readLocalFile(photo, given)).toEqual({ ...own, ...given });
});

test.each([
  ["a.safetensors", "application/octet-stream"],
  ["README", "application/octet-stream"],
  ["a.JPG", "image/jpeg"],
  ["a.tar.gz", "application/gzip"],
])("the file %s has the type %s", async (name, mimeType) => {
  const path = join(folder, name);
  writeFileSync(path, "x");
  expect(await readLocalFile(path)).toMatchObject({ mimeType, name });
});

test("a link is followed to its file, and a name that the service refuses is left out", async () => {
  const link = join(folder, "back\\slash.png");
  symlinkSync(photo, link);
  expect(await readLocalFile(link)).toMatchObject({ name: undefined, path: photo });
});

test("a path that is no file or cannot be sent is refused", async () => {
  mkdirSync(join(folder, "photos"));
  writeFileSync(join(folder, "empty"), "");
  const refused = async (path: string, message: RegExp, options = {}) => {
    const reading = readLocalFile(path, options);
    await expect(reading).rejects.toThrow(Misuse);
    await expect(reading).rejects.toThrow(message);
  };
  await refused(join(folder, "photos"), /is a directory\. Upload its files/);
  await refused(join(folder, "empty"), /is empty/);
  await refused(join(folder, "gone"), /Can't read .*gone: ENOENT/);
  await refused("/dev/null", /is not a regular file/);
  await refused(photo, /^--mime-type: .*image\/png/, { mimeType: "png" });
  await refused(photo, /^--name: a name without slashes/, { name: "a/b" });
});

const refusal = (status?: number) => new ControlPlaneError("Words.", status ? { status } : {});

test("an error before the upload says what to look at", async () => {
  const file = await readLocalFile(photo);
  const advice = (error: unknown) => adviceAtBegin(error, "https://auspex.test", file);
  expect(advice(refusal())).toMatch(/^Words\.\n.*network.*AUSPEX_URL.*again/);
  expect(advice(refusal(401))).toMatch(/^Words\.\n.*AUSPEX_TOKEN/);
  expect(advice(refusal(403))).toBe("Words.");
  expect(advice(refusal(404))).toMatch(/doesn't accept uploads: Words\.\n.*AUSPEX_URL/);
  expect(advice(refusal(422))).toMatch(
    /photo\.png \(5 B\) was rejected: Words\.\nIf it is too large/,
  );
});

test("an error during the upload says whether the same command goes on", () => {
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
