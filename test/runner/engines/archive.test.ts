/** Extraction of files from real archives, whole and broken. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { extractFile } from "../../../runner/src/engines/docker/docker-container.ts";
import { OutputFolder } from "../../../runner/src/files/output-folder.ts";
import { ScratchFolders } from "../../../runner/src/lib/scratch.ts";

const SIZE = 1_000_000;
/** A position within the file: its header is 512 bytes long. */
const CUT = 300_000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "auspex-archive-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function archiveOf(name: string, content: Buffer): Buffer {
  writeFileSync(join(directory, name), content);
  return execFileSync("tar", ["-c", "-C", directory, name], { maxBuffer: 2 * SIZE });
}

/** Returns an answer like Docker's: the bytes so far, and more to come. */
function answer(bytes: Buffer): PassThrough {
  const archive = new PassThrough();
  archive.write(bytes);
  return archive;
}

it.each([0, 1, 512, SIZE])("a file of %d bytes is extracted whole", async (size) => {
  const content = Buffer.alloc(size, "0123456");
  const archive = new PassThrough();
  archive.end(archiveOf("whole.bin", content));
  const file = await extractFile(archive, "/whole.bin");
  expect((await buffer(file.content)).equals(content)).toBe(true);
  expect(Math.abs(Date.now() - file.modifiedMs)).toBeLessThan(60_000);
});

it("a folder is refused as a file", async () => {
  mkdirSync(join(directory, "folder"));
  const archive = new PassThrough();
  archive.end(execFileSync("tar", ["-c", "-C", directory, "folder"]));
  await expect(extractFile(archive, "/folder")).rejects.toThrow("not a regular file");
});

describe("a file that breaks off", () => {
  it.each<[string, (archive: PassThrough) => void, string]>([
    ["ends", (archive) => archive.end(), "Unexpected end of data"],
    ["fails", (archive) => archive.destroy(new Error("socket hang up")), "socket hang up"],
    ["closes", (archive) => archive.destroy(), "Premature close"],
  ])(
    "a file that breaks off is not taken for whole: its archive %s",
    async (_, breakOff, message) => {
      const archive = answer(archiveOf("a.bin", Buffer.alloc(SIZE)).subarray(0, CUT));
      const { content } = await extractFile(archive, "/a.bin");
      const read = buffer(content);
      await setImmediate();
      breakOff(archive);
      await expect(read).rejects.toThrow(message);
    },
  );

  it("a file that breaks off before it is read fails its reader", async () => {
    const archive = answer(archiveOf("a.bin", Buffer.alloc(SIZE)).subarray(0, CUT));
    const { content } = await extractFile(archive, "/a.bin");
    archive.destroy(new Error("socket hang up"));
    await setImmediate();
    await expect(buffer(content)).rejects.toThrow("socket hang up");
  });
});

describe("a file that nobody wants to its end", () => {
  it("a file is refused before the rest has come, and its archive is closed", async () => {
    const archive = answer(archiveOf("a.bin", Buffer.alloc(SIZE)).subarray(0, CUT));
    const { content } = await extractFile(archive, "/a.bin");
    const bounds = { fileBytes: 1_000, totalBytes: SIZE, count: 1 };
    const [root] = [join(directory, "reporter")];
    const folders = new ScratchFolders(root);
    await folders.sweep();
    const added = new OutputFolder(folders, bounds).add(content, "a.bin", "a/b");
    await expect(added).rejects.toThrow("the file a.bin is larger than 1000 bytes");
    expect(archive.destroyed).toBe(true);
    expect(readdirSync(root, { recursive: true })).toHaveLength(1);
  });

  it("a file can be closed unread", async () => {
    const archive = answer(archiveOf("a.bin", Buffer.alloc(SIZE)).subarray(0, CUT));
    const { content } = await extractFile(archive, "/a.bin");
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    archive.on("close", resolve);
    content.destroy();
    await closed;
  });
});
